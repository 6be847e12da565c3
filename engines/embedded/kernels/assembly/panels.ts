import { wide, wideTile } from "./product";
import { begin, claim, threadScratch } from "./thread";
import { TILE_COLUMNS, TILE_ROWS, tile } from "./tile";
import { at, fma, LANES, loadOne } from "./vector";

// For inference, matrices are stored in panels of 8 rows: the 8 elements of each column are adjacent, in bfloat16 in
// the order of rows 0, 4, 1, 5, 2, 6, 3, 7, so that a shift and a mask widen a word's two elements. A matrix has whole
// panels; rows beyond `out` never reach a result.

/** Rows of a panel. */
const PANEL: i32 = TILE_COLUMNS;
/** Panels read in parallel for a single x: the processor prefetches several streams at once. */
const STREAMS: i32 = 4;
/** Columns of a block: a wide panel of them, 40 KiB, stays in the L2 cache. */
const MAX_DEPTH: i32 = 640;
/** Bytes of a thread's edge tile. */
const EDGE: usize = 384;
/** Rows of x from which it pays to widen a panel once, for `tile`. */
const PACKED_ROWS: i32 = 7;

// @ts-ignore: decorator
@inline
function numberBytes(isBf16: bool): usize {
  return isBf16 ? 2 : 4;
}

/** Index of a row's element in a column of a panel. */
// @ts-ignore: decorator
@inline
function elementIndex(row: i32, isBf16: bool): usize {
  return isBf16 ? <usize>((row & 3) << 1 | row >> 2) : <usize>row;
}

/**
 * Rearranges a row-major matrix [rows, width] into panels, in place, on this thread alone.
 * @param rows whole panels
 * @param scratch one panel
 */
export function makePanels(rows: i32, width: i32, w: usize, isBf16: bool, scratch: usize): void {
  const bytes = <usize>(PANEL * width) * numberBytes(isBf16);
  for (const end = w + <usize>(rows / PANEL) * bytes; w < end; w += bytes) {
    memory.copy(scratch, w, bytes);
    if (isBf16) transposeHalves(width, scratch, w);
    else transposeWords(width, scratch, w);
  }
}

function transposeHalves(width: i32, from: usize, to: usize): void {
  const row = <usize>width << 1;
  for (let k = 0; k < width; k++, from += 2, to += 16) {
    for (let r: usize = 0; r < 4; r++) {
      store<u16>(to + 4 * r, load<u16>(from + r * row));
      store<u16>(to + 4 * r, load<u16>(from + (r + 4) * row), 2);
    }
  }
}

function transposeWords(width: i32, from: usize, to: usize): void {
  const row = <usize>width << 2;
  for (let k = 0; k < width; k++, from += 4, to += 32) {
    for (let r: usize = 0; r < 8; r++) store<f32>(to + 4 * r, load<f32>(from + r * row));
  }
}

/** y[r, :] = table[ids[r], :] for a table [vocabulary, width] in panels. @param ids [rows], int32 */
export function embedPanels(rows: i32, width: i32, ids: usize, table: usize, isBf16: bool, y: usize): void {
  const counter = begin(), size = numberBytes(isBf16);
  for (let r = claim(counter); r < rows; r = claim(counter)) {
    const id = load<i32>(at(ids, r)), to = at(y, r * width);
    let from = table + (<usize>(id >> 3) * width * PANEL + elementIndex(id & 7, isBf16)) * size;
    for (let i = 0; i < width; i++, from += <usize>PANEL * size) store<f32>(at(to, i), loadOne(from, isBf16));
  }
}

/**
 * y[r, :] = addend[r, :] + W·x[r, :] for W [out, width] in panels. Each element is summed in the same order for any
 * number of rows: column by column, in blocks of at most 640.
 * @param share panels a thread claims at a time
 * @param x [rows, width], rows `xRow` elements apart
 * @param addend laid out as y, or y itself, or 0 for none
 * @param y [rows, out], rows `yRow` elements apart
 */
export function panelProduct(
  rows: i32, out: i32, width: i32, w: usize, isBf16: bool, share: i32,
  x: usize, xRow: i32, addend: usize, y: usize, yRow: i32,
): void {
  const counter = begin(), panels = (out + PANEL - 1) / PANEL, full = out / PANEL;
  for (let p = claim(counter) * share; p < panels; p = claim(counter) * share) {
    const end = min(p + share, panels);
    if (rows == 1) {
      const whole = min(end, full), stride = (whole - p) / STREAMS;
      for (let i = 0; i < stride; i++) vectorPanels(p + i, stride, width, w, isBf16, x, addend, y);
      p += STREAMS * stride;
    } else if (rows >= PACKED_ROWS) {
      const isWide = ASC_FEATURE_RELAXED_SIMD && wide, step = isWide ? 2 : 1;
      for (; p + step <= min(end, full); p += step) {
        packedRows(p, isWide, rows, width, w, isBf16, x, xRow, addend, y, yRow);
      }
    }
    for (; p < end; p++) {
      for (let i = 0; i < rows; i += TILE_ROWS) {
        const from = at(x, i * xRow), o = i * yRow + p * PANEL, more = addend ? at(addend, o) : 0;
        const height = min(TILE_ROWS, rows - i), columns = min(PANEL, out - p * PANEL);
        panelRows(p, height, width, w, isBf16, from, xRow, more, at(y, o), yRow, columns);
      }
    }
  }
}

/** Depth of each block: all are about equally deep. */
// @ts-ignore: decorator
@inline
function blockDepth(width: i32): i32 {
  const blocks = (width + MAX_DEPTH - 1) / MAX_DEPTH;
  return ((width + blocks - 1) / blocks + 7) & ~7;
}

/** Four panels from p on, `stride` panels apart, times one x. */
function vectorPanels(p: i32, stride: i32, width: i32, w: usize, isBf16: bool, x: usize, addend: usize, y: usize): void {
  const deep = blockDepth(width), line = numberBytes(isBf16) * PANEL, panel = line * width;
  const to = at(y, p * PANEL);
  let from = w + <usize>p * panel, more = addend ? at(addend, p * PANEL) : 0;
  for (let k = 0; k < width; k += deep) {
    const depth = min(deep, width - k);
    if (isBf16) fourPanels(depth, from, panel * stride, true, at(x, k), more, to, stride << 5);
    else fourPanels(depth, from, panel * stride, false, at(x, k), more, to, stride << 5);
    from += line * depth;
    more = to;
  }
}

/** The 32 sums of one block. */
// @ts-ignore: decorator
@inline
function fourPanels(depth: i32, w: usize, panel: usize, isBf16: bool, x: usize, addend: usize, y: usize, row: usize): void {
  const zero = f32x4.splat(0), line = numberBytes(isBf16) * PANEL, end = at(x, depth);
  let a = zero, b = zero, c = zero, d = zero, e = zero, f = zero, g = zero, h = zero;
  // As in `tile`: masked addresses save V8 a move each.
  x &= ~3; w &= ~3;
  let w1 = (w + panel) & ~3, w2 = (w1 + panel) & ~3, w3 = (w2 + panel) & ~3;
  for (; x < end; x += 4) {
    const s = v128.load32_splat(x);
    a = fma(s, low(w, isBf16), a); b = fma(s, high(w, isBf16), b);
    c = fma(s, low(w1, isBf16), c); d = fma(s, high(w1, isBf16), d);
    e = fma(s, low(w2, isBf16), e); f = fma(s, high(w2, isBf16), f);
    g = fma(s, low(w3, isBf16), g); h = fma(s, high(w3, isBf16), h);
    w += line; w1 += line; w2 += line; w3 += line;
  }
  put(y, addend, a, b);
  const next = addend ? row : 0;
  put(y + row, addend + next, c, d);
  put(y + 2 * row, addend + 2 * next, e, f);
  put(y + 3 * row, addend + 3 * next, g, h);
}

/** Rows 0 to 3 of a panel's column; `high` has rows 4 to 7. */
// @ts-ignore: decorator
@inline
function low(line: usize, isBf16: bool): v128 {
  return isBf16 ? i32x4.shl(v128.load(line), 16) : v128.load(line);
}

// @ts-ignore: decorator
@inline
function high(line: usize, isBf16: bool): v128 {
  return isBf16 ? v128.and(v128.load(line), i32x4.splat(0xffff0000)) : v128.load(line, 16);
}

// @ts-ignore: decorator
@inline
function put(y: usize, addend: usize, a: v128, b: v128): void {
  v128.store(y, addend ? f32x4.add(a, v128.load(addend)) : a);
  v128.store(y, addend ? f32x4.add(b, v128.load(addend, 16)) : b, 16);
}

/** One panel times up to TILE_ROWS rows of x. @param columns of the panel that are in y */
function panelRows(
  p: i32, height: i32, width: i32, w: usize, isBf16: bool, x: usize, xRow: i32,
  addend: usize, y: usize, yRow: i32, columns: i32,
): void {
  const deep = blockDepth(width), line = numberBytes(isBf16) * PANEL, row = <usize>xRow << 2;
  let from = w + <usize>p * line * width;
  for (let k = 0; k < width; k += deep) {
    const depth = min(deep, width - k);
    if (isBf16) rowsTile(depth, from, true, at(x, k), row, height - 1);
    else rowsTile(depth, from, false, at(x, k), row, height - 1);
    from += line * depth;
    for (let r = 0; r < height; r++) {
      const o = r * yRow;
      storeRow(threadScratch + (<usize>r << 5), columns, addend ? at(addend, o) : 0, at(y, o));
    }
    addend = y;
  }
}

/** The sums of one block in this thread's edge tile [TILE_ROWS, 8]. @param last row of x, repeated beyond it */
// @ts-ignore: decorator
@inline
function rowsTile(depth: i32, w: usize, isBf16: bool, x: usize, row: usize, last: usize): void {
  let x1 = x + min(<usize>1, last) * row, x2 = x + min(<usize>2, last) * row, x3 = x + min(<usize>3, last) * row;
  let x4 = x + min(<usize>4, last) * row, x5 = x + min(<usize>5, last) * row;
  // As in `tile`: masked addresses save V8 a move each.
  w &= ~3; x &= ~3; x1 &= ~3; x2 &= ~3; x3 &= ~3; x4 &= ~3; x5 &= ~3;
  const zero = f32x4.splat(0), line = numberBytes(isBf16) * PANEL;
  let a0 = zero, a1 = zero, a2 = zero, a3 = zero, a4 = zero, a5 = zero;
  let b0 = zero, b1 = zero, b2 = zero, b3 = zero, b4 = zero, b5 = zero;
  for (const end = w + line * depth; w < end; w += line) {
    const a = low(w, isBf16), b = high(w, isBf16);
    let s = v128.load32_splat(x); a0 = fma(s, a, a0); b0 = fma(s, b, b0); x += 4;
    s = v128.load32_splat(x1); a1 = fma(s, a, a1); b1 = fma(s, b, b1); x1 += 4;
    s = v128.load32_splat(x2); a2 = fma(s, a, a2); b2 = fma(s, b, b2); x2 += 4;
    s = v128.load32_splat(x3); a3 = fma(s, a, a3); b3 = fma(s, b, b3); x3 += 4;
    if (TILE_ROWS > 4) {
      s = v128.load32_splat(x4); a4 = fma(s, a, a4); b4 = fma(s, b, b4); x4 += 4;
      s = v128.load32_splat(x5); a5 = fma(s, a, a5); b5 = fma(s, b, b5); x5 += 4;
    }
  }
  if (TILE_ROWS > 4) {
    put(threadScratch + 160, 0, a5, b5);
    put(threadScratch + 128, 0, a4, b4);
  }
  put(threadScratch + 96, 0, a3, b3);
  put(threadScratch + 64, 0, a2, b2);
  put(threadScratch + 32, 0, a1, b1);
  put(threadScratch, 0, a0, b0);
}

/** y = addend + sums, for the columns in y. */
// @ts-ignore: decorator
@inline
function storeRow(sums: usize, columns: i32, addend: usize, y: usize): void {
  if (columns == PANEL) return put(y, addend, v128.load(sums), v128.load(sums, 16));
  for (let i = 0; i < columns; i++) {
    const sum = load<f32>(at(sums, i));
    store<f32>(at(y, i), addend ? sum + load<f32>(at(addend, i)) : sum);
  }
}

/** One panel, or two as a wide one, widened once and multiplied by all rows of x. */
function packedRows(
  p: i32, isWide: bool, rows: i32, width: i32, w: usize, isBf16: bool, x: usize, xRow: i32,
  addend: usize, y: usize, yRow: i32,
): void {
  const deep = blockDepth(width), line = numberBytes(isBf16) * PANEL, to = at(y, p * PANEL);
  const packed = threadScratch + EDGE, row = <usize>xRow << 2, yBytes = <usize>yRow << 2;
  let from = w + <usize>p * line * width, more = addend ? at(addend, p * PANEL) : 0;
  for (let k = 0; k < width; k += deep) {
    const depth = min(deep, width - k);
    pack(packed, depth, from, isWide ? line * width : 0, isBf16);
    let i = 0;
    for (; i + TILE_ROWS <= rows; i += TILE_ROWS) {
      const o = <usize>i * yBytes, a = at(x, i * xRow + k), d = more ? more + o : 0;
      if (isWide) wideTile(depth, a, row, 4, TILE_ROWS - 1, packed, to + o, yBytes, d, 1);
      else tile(depth, a, row, 4, TILE_ROWS - 1, packed, to + o, yBytes, d, 1);
    }
    if (i < rows) {
      const o = <usize>i * yBytes, a = at(x, i * xRow + k), d = more ? more + o : 0;
      lastRows(isWide, rows - i, depth, a, row, packed, to + o, yBytes, d);
    }
    from += line * depth;
    more = to;
  }
}

/** Fewer rows than a tile: computed in scratch space, because a tile writes all its rows. */
function lastRows(
  isWide: bool, rows: i32, depth: i32, x: usize, row: usize, packed: usize, y: usize, yBytes: usize, addend: usize,
): void {
  const columns = isWide ? 2 * PANEL : PANEL, bytes = <usize>columns << 2;
  if (isWide) wideTile(depth, x, row, 4, rows - 1, packed, threadScratch, bytes, 0, 1);
  else tile(depth, x, row, 4, rows - 1, packed, threadScratch, bytes, 0, 1);
  for (let r = 0; r < rows; r++) {
    const o = <usize>r * yBytes, sums = threadScratch + <usize>r * bytes, d = addend ? addend + o : 0;
    storeRow(sums, PANEL, d, y + o);
    if (isWide) storeRow(sums + 32, PANEL, d ? d + 32 : 0, y + o + 32);
  }
}

/** Widens a panel to float32 for a tile. @param next bytes to its neighbour, or 0 for none */
function pack(to: usize, depth: i32, w: usize, next: usize, isBf16: bool): void {
  const line = numberBytes(isBf16) * PANEL;
  for (const end = w + line * depth; w < end; w += line) {
    v128.store(to, low(w, isBf16));
    v128.store(to, high(w, isBf16), 16);
    to += 32;
    if (!next) continue;
    v128.store(to, low(w + next, isBf16));
    v128.store(to, high(w + next, isBf16), 16);
    to += 32;
  }
}
