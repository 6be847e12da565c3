import { packColumns, packRows } from "./pack";
import { packGroups, packGroupsBack } from "./packQuantized";
import { GROUP, Q8_0, groupBytes } from "./quantizedBlock";
import { begin, claim, barrier, threadScratch } from "./thread";
import { TILE_COLUMNS, TILE_ROWS, tile } from "./tile";
import { at } from "./vector";

/** Maximum depth of a block: a packed panel of 8 columns of B, 20 KiB, stays in the L1 cache. */
const MAX_DEPTH: i32 = 640;
/** Elements of B a thread packs at a time: 64 columns or more stay in the L2 cache. */
const PANEL_NUMBERS: i32 = 64 * 640;
/** Maximum rows of A a thread packs at a time: 480 KiB. */
const MAX_ROWS: i32 = 192;
/** Rows of A that are multiplied with all packed panels before the next rows: they stay in the L2 cache, too. */
const NEAR_ROWS: i32 = 48;

/** A thread's scratch space: an edge tile, packed panels of B, packed rows of A. */
const EDGE: usize = 384;
const PANELS: usize = PANEL_NUMBERS * 4;
export const SCRATCH_BYTES: i32 = 384 + 640 * (64 + 192) * 4;

/** Columns of a wide tile. */
const WIDE_COLUMNS: i32 = 2 * TILE_COLUMNS;
/** Whether to use the wide tile; then only the last panel may have 8 columns. */
export let wide: bool = false;

/** Uses the wide tile from now on. */
export function widen(): void {
  wide = true;
}

// @ts-ignore: decorator
@external("env", "wideTile")
export declare function wideTile(
  depth: i32, a: usize, row: usize, step: usize, last: usize, b: usize,
  c: usize, cRow: usize, d: usize, alpha: f32,
): void;

/** No element is masked. */
export const FULL: i32 = 0;
/** C's entries right of the diagonal are not computed. */
export const CAUSAL_C: i32 = 1;
/** Entries of A [query, key] right of the diagonal are 0. */
export const CAUSAL_A: i32 = 2;
/** Entries of A [key, query] left of the diagonal are 0. */
export const CAUSAL_AT: i32 = 3;

/** The operands of the current product; strides in elements. */
let a: usize = 0, aRow: i32 = 0, aColumn: i32 = 0;
let b: usize = 0, bRow: i32 = 0, bColumn: i32 = 0, bIsBf16: bool = false;
/** For a quantized B, the bytes of a group of W's rows, and whether B is W itself. */
let bGroup: usize = 0, bIsBack: bool = false;
let c: usize = 0, cRow: i32 = 0, d: usize = 0, scale: f32 = 1;
let mask: i32 = FULL;

/** Sets A [rows, depth]: element (i, k) is a[i · row + k · column]; row or column is 1. */
export function setA(from: usize, row: i32, column: i32): void {
  a = from;
  aRow = row;
  aColumn = column;
}

/** Sets B [depth, columns], in bfloat16 if `isBf16`: element (k, j) is b[k · row + j · column]. */
export function setB(from: usize, row: i32, column: i32, isBf16: bool): void {
  b = from;
  bRow = row;
  bColumn = column;
  bIsBf16 = isBf16;
  bGroup = 0;
}

/** Sets B to Wᵀ, or to W itself if `isBack`, for weights W [out, width] in q8_0 (quantizedBlock.ts). */
export function setQuantizedB(from: usize, width: i32, isBack: bool): void {
  b = from;
  bGroup = groupBytes(Q8_0, width);
  bIsBack = isBack;
}

/** Sets C [rows, columns], with contiguous rows, and D, laid out as C; 0 is none. */
export function setC(to: usize, row: i32, addend: usize, alpha: f32): void {
  c = to;
  cRow = row;
  d = addend;
  scale = alpha;
}

/**
 * C = D + alpha · A·B on all threads, with a barrier before each block of the depth.
 * @param rowShare and columnShare: rows and columns of C a thread claims at a time, multiples of 12 and 8. If A isn't
 * contiguous in k, a block of such rows has at most 192 · 640 elements
 */
export function product(rows: i32, columns: i32, depth: i32, rowShare: i32, columnShare: i32): void {
  mask = FULL;
  const deep = blockDepth(depth);
  const down = (rows + rowShare - 1) / rowShare, across = (columns + columnShare - 1) / columnShare;
  for (let k0 = 0; k0 < depth; k0 += deep) {
    barrier();
    const counter = begin();
    for (let job = claim(counter); job < down * across; job = claim(counter)) {
      const i = job % down * rowShare, j = job / down * columnShare;
      block(i, min(i + rowShare, rows), j, min(j + columnShare, columns), k0, min(deep, depth - k0));
    }
  }
}

/** The same on this thread alone. @param causal one of `FULL`, `CAUSAL_C`, … */
export function ownProduct(rows: i32, columns: i32, depth: i32, causal: i32): void {
  mask = causal;
  const deep = blockDepth(depth);
  for (let k0 = 0; k0 < depth; k0 += deep) {
    for (let i = 0; i < rows; i += MAX_ROWS) {
      block(i, min(i + MAX_ROWS, rows), 0, columns, k0, min(deep, depth - k0));
    }
  }
}

/** Depth of each block: all are about equally deep. */
function blockDepth(depth: i32): i32 {
  const blocks = (depth + MAX_DEPTH - 1) / MAX_DEPTH;
  return ((depth + blocks - 1) / blocks + 7) & ~7;
}

/** Rows i0 to i1 of columns j0 to j1, for `kc` values of k from k0. */
function block(i0: i32, i1: i32, j0: i32, j1: i32, k0: i32, kc: i32): void {
  const inPlace = aColumn == 1, rows = threadScratch + EDGE + PANELS;
  for (let i = i0; i < i1 && !inPlace; i += TILE_ROWS) {
    const from = at(a, i + k0 * aColumn);
    packRows(at(rows, (i - i0) * kc), kc, min(TILE_ROWS, i1 - i), from, <usize>aColumn << 2);
  }
  const columns = PANEL_NUMBERS / kc & ~15;
  for (let j = j0; j < j1; j += columns) {
    const end = min(j + columns, j1);
    pack(j, end, k0, kc);
    for (let i = i0; i < i1; i += NEAR_ROWS) {
      panels(i, min(i + NEAR_ROWS, i1), j, end, k0, kc, inPlace ? 0 : at(rows, (i - i0) * kc));
    }
  }
}

/** Columns of the next panel. */
// @ts-ignore: decorator
@inline
function panelColumns(remaining: i32): i32 {
  return ASC_FEATURE_RELAXED_SIMD && wide && remaining > TILE_COLUMNS ? WIDE_COLUMNS : TILE_COLUMNS;
}

/** Packs columns j to `end` of B into panels. */
function pack(j: i32, end: i32, k0: i32, kc: i32): void {
  const size: usize = bIsBf16 ? 2 : 4;
  for (let p = j, columns = 0; p < end; p += columns) {
    columns = panelColumns(end - p);
    const to = at(threadScratch + EDGE, (p - j) * kc);
    if (bGroup) {
      if (bIsBack) packGroupsBack(to, k0, kc, columns, p, b, bGroup);
      else packGroups(to, k0, kc, columns, b + <usize>(p / GROUP) * bGroup, bGroup);
      continue;
    }
    const from = b + (<usize>k0 * bRow + <usize>p * bColumn) * size;
    packColumns(to, kc, columns, min(columns, end - p), from, bRow, bColumn, bIsBf16);
  }
}

/** Rows i0 to i1 of the packed columns j to `end`. */
function panels(i0: i32, i1: i32, j: i32, end: i32, k0: i32, kc: i32, rows: usize): void {
  for (let p = j, columns = 0; p < end; p += columns) {
    columns = panelColumns(end - p);
    tiles(i0, i1, p, columns, min(columns, end - p), k0, kc, rows, at(threadScratch + EDGE, (p - j) * kc));
  }
}

/**
 * Rows i0 to i1 of the columns of one panel.
 * @param rows packed, or 0 to read A in place
 */
// @ts-ignore: decorator
@inline
function tiles(
  i0: i32, i1: i32, j: i32, columns: i32, width: i32, k0: i32, kc: i32, rows: usize, panel: usize,
): void {
  const row: usize = rows ? 4 : <usize>aRow << 2, step: usize = rows ? 4 * TILE_ROWS : 4;
  const addend = k0 > 0 ? c : d;
  for (let i = i0; i < i1; i += TILE_ROWS) {
    if (mask == CAUSAL_C && j >= i + TILE_ROWS) continue;
    // Skips the zeros of a causal A.
    const from = mask == CAUSAL_AT ? min(kc, max(0, i - k0)) : 0;
    const to = mask == CAUSAL_A ? max(0, min(kc, i + TILE_ROWS - k0)) : kc;
    const x = rows ? at(rows, (i - i0) * kc + from * TILE_ROWS) : at(a, i * aRow + k0 + from);
    const height = min(TILE_ROWS, i1 - i), y = at(panel, from * columns);
    storeTile(i, j, height, columns, width, to - from, x, row, step, y, addend);
  }
}

/** Computes a tile at (i, j) of C; one that crosses the edge goes through scratch space. */
// @ts-ignore: decorator
@inline
function storeTile(
  i: i32, j: i32, height: i32, columns: i32, width: i32, depth: i32,
  x: usize, row: usize, step: usize, panel: usize, addend: usize,
): void {
  const to = i * cRow + j, cBytes = <usize>cRow << 2;
  if (height == TILE_ROWS && width == columns) {
    multiply(columns, depth, x, row, step, TILE_ROWS - 1, panel, at(c, to), cBytes, addend ? at(addend, to) : 0);
    return;
  }
  multiply(columns, depth, x, row, step, height - 1, panel, threadScratch, at(0, columns), 0);
  for (let r = 0; r < height; r++) {
    for (let s = 0; s < width; s++) {
      const value = load<f32>(at(threadScratch, r * columns + s));
      const index = to + r * cRow + s;
      store<f32>(at(c, index), addend ? value + load<f32>(at(addend, index)) : value);
    }
  }
}

/** Computes a tile of 8 or 16 columns. */
// @ts-ignore: decorator
@inline
function multiply(
  columns: i32, depth: i32, x: usize, row: usize, step: usize, last: usize, panel: usize,
  to: usize, toRow: usize, addend: usize,
): void {
  if (columns == TILE_COLUMNS) tile(depth, x, row, step, last, panel, to, toRow, addend, scale);
  else wideTile(depth, x, row, step, last, panel, to, toRow, addend, scale);
}
