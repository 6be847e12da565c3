import { packColumns, packRows } from "./pack";
import { begin, claim, meet, nextBlock, own } from "./thread";
import { TILE_COLUMNS, TILE_ROWS, tile } from "./tile";
import { at, loadOne } from "./vector";

/** Depth of a block: a packed panel of B, 16 KiB, stays in the first-level cache. */
export const BLOCK_DEPTH: i32 = 512;
/** Columns of a block that all threads pack together: 1 MiB. */
export const BLOCK_COLUMNS: i32 = 512;
/** Rows that a thread claims at most; their A, 192 KiB, stays in the second-level cache. */
export const BLOCK_ROWS: i32 = 96;
/** Columns of a block that a thread packs for itself. */
const OWN_COLUMNS: i32 = 128;

/** A thread's own: an edge tile, packed rows, packed columns. */
const EDGE: usize = 256;
const OWN_PANELS: usize = 256 + 96 * 512 * 4;
export const OWN_BYTES: i32 = 256 + 96 * 512 * 4 + 128 * 512 * 4;

/** Which elements of a causal matrix are known to be 0, or need not be computed. */
export const FULL: i32 = 0;
/** C's entries right of the diagonal are left out. */
export const CAUSAL_C: i32 = 1;
/** Entries of A [query, key] right of the diagonal are 0. */
export const CAUSAL_A: i32 = 2;
/** Entries of A [key, query] left of the diagonal are 0. */
export const CAUSAL_AT: i32 = 3;

/** The operands of the product in work; strides in elements. */
let a: usize = 0, aRow: i32 = 0, aColumn: i32 = 0;
let b: usize = 0, bRow: i32 = 0, bColumn: i32 = 0, bHalf: bool = false;
let c: usize = 0, cRow: i32 = 0, d: usize = 0, scale: f32 = 1;
let mask: i32 = FULL;

/** Names A [rows, depth]: element (i, k) is a[i · row + k · column]; row or column is 1. */
export function setA(from: usize, row: i32, column: i32): void {
  a = from;
  aRow = row;
  aColumn = column;
}

/** Names B [depth, columns], of bfloat16 if `half`: element (k, j) is b[k · row + j · column]. */
export function setB(from: usize, row: i32, column: i32, half: bool): void {
  b = from;
  bRow = row;
  bColumn = column;
  bHalf = half;
}

/** Names C [rows, columns], its rows contiguous, and D, which lies as C does; 0 is none. */
export function setC(to: usize, row: i32, added: usize, alpha: f32): void {
  c = to;
  cRow = row;
  d = added;
  scale = alpha;
}

/**
 * C = D + alpha · A·B by all threads, which meet once for each block of B: after that A is read
 * and C written. B must be ready when it is called.
 * @param share rows that a thread claims at a time, a multiple of 12
 */
export function product(rows: i32, columns: i32, depth: i32, share: i32): void {
  mask = FULL;
  for (let j0 = 0; j0 < columns; j0 += BLOCK_COLUMNS) {
    const width = min(BLOCK_COLUMNS, columns - j0);
    for (let k0 = 0; k0 < depth; k0 += BLOCK_DEPTH) {
      const kc = min(BLOCK_DEPTH, depth - k0);
      const packed = nextBlock();
      let counter = begin();
      const panels = (width + TILE_COLUMNS - 1) / TILE_COLUMNS;
      for (let p = claim(counter); p < panels; p = claim(counter)) pack(packed, p, p + 1, j0, width, k0, kc);
      meet();
      counter = begin();
      for (let i = claim(counter) * share; i < rows; i = claim(counter) * share) {
        block(i, min(i + share, rows), j0, width, k0, kc, packed);
      }
    }
  }
}

/** The same by this thread alone, of matrices that are causal as `causal` says. */
export function ownProduct(rows: i32, columns: i32, depth: i32, causal: i32): void {
  mask = causal;
  const packed = own + OWN_PANELS;
  for (let j0 = 0; j0 < columns; j0 += OWN_COLUMNS) {
    const width = min(OWN_COLUMNS, columns - j0);
    for (let k0 = 0; k0 < depth; k0 += BLOCK_DEPTH) {
      const kc = min(BLOCK_DEPTH, depth - k0);
      pack(packed, 0, (width + TILE_COLUMNS - 1) / TILE_COLUMNS, j0, width, k0, kc);
      for (let i = 0; i < rows; i += BLOCK_ROWS) {
        block(i, min(i + BLOCK_ROWS, rows), j0, width, k0, kc, packed);
      }
    }
  }
}

/** Packs panels `from` to `to` of the block of B at (k0, j0). */
function pack(packed: usize, from: i32, to: i32, j0: i32, width: i32, k0: i32, kc: i32): void {
  const size: usize = bHalf ? 2 : 4;
  for (let p = from; p < to; p++) {
    const j = p * TILE_COLUMNS;
    const source = b + (<usize>k0 * bRow + <usize>(j0 + j) * bColumn) * size;
    packColumns(at(packed, j * kc), kc, min(TILE_COLUMNS, width - j), source, bRow, bColumn, bHalf);
  }
}

/** Rows i0 to i1 of a block. A that is contiguous in k is read where it lies. */
function block(i0: i32, i1: i32, j0: i32, width: i32, k0: i32, kc: i32, packed: usize): void {
  const inPlace = aColumn == 1;
  const rows = own + EDGE;
  if (!inPlace) {
    for (let i = i0; i < i1; i += TILE_ROWS) {
      const from = at(a, i + k0 * aColumn);
      packRows(at(rows, (i - i0) * kc), kc, min(TILE_ROWS, i1 - i), from, <usize>aColumn << 2);
    }
  }
  for (let j = 0; j < width; j += TILE_COLUMNS) {
    const panel = at(packed, j * kc), w = min(TILE_COLUMNS, width - j);
    for (let i = i0; i < i1; i += TILE_ROWS) {
      if (mask == CAUSAL_C && j0 + j >= i + TILE_ROWS) continue;
      // Where A is causal, only these k count.
      const from = mask == CAUSAL_AT ? min(kc, max(0, i - k0)) : 0;
      const to = mask == CAUSAL_A ? max(0, min(kc, i + TILE_ROWS - k0)) : kc;
      const added = k0 > 0 ? c : d;
      const x = inPlace ? at(a, i * aRow + k0 + from) : at(rows, (i - i0) * kc + from * TILE_ROWS);
      const row: usize = inPlace ? <usize>aRow << 2 : 4, step: usize = inPlace ? 4 : 4 * TILE_ROWS;
      place(i, j0 + j, min(TILE_ROWS, i1 - i), w, to - from, x, row, step, at(panel, from * TILE_COLUMNS), added);
    }
  }
}

/** A tile at (i, j) of C; one that reaches over the edge is made aside, and its part copied. */
// @ts-ignore: decorator
@inline
function place(
  i: i32, j: i32, height: i32, width: i32, depth: i32,
  x: usize, row: usize, step: usize, panel: usize, added: usize,
): void {
  const to = i * cRow + j, cBytes = <usize>cRow << 2;
  if (height == TILE_ROWS && width == TILE_COLUMNS) {
    tile(depth, x, row, step, TILE_ROWS - 1, panel, at(c, to), cBytes, added ? at(added, to) : 0, scale);
    return;
  }
  tile(depth, x, row, step, height - 1, panel, own, 4 * TILE_COLUMNS, 0, scale);
  for (let r = 0; r < height; r++) {
    for (let s = 0; s < width; s++) {
      const value = load<f32>(at(own, r * TILE_COLUMNS + s));
      const place = to + r * cRow + s;
      store<f32>(at(c, place), added ? value + load<f32>(at(added, place)) : value);
    }
  }
}
