import { type Address, MOST_DEPTH, PACKED_NUMBERS } from "./kernels.ts";
import { type QuantizedMatrix, createQuantizedProducts } from "./quantized.ts";
import type { Thread } from "./team.ts";

/** A matrix of weights [out, in], row-major. */
export interface Matrix {
  at: Address;
  out: number;
  in: number;
  /** Whether its numbers are bfloat16, as in the file. */
  isBf16?: boolean;
  /** If its numbers are quantized: its rows by parts, each of one type. */
  quantized?: readonly QuantizedMatrix[] | undefined;
}

/** Rows of a panel, in which an answering model's matrices lie (`assembly/panels.ts`). */
export const PANEL = 8;

/** Rows that lie `row` elements apart; a part of a wider array has its rows farther apart. */
export interface Rows {
  at: Address;
  row: number;
}

/** Rows that a claim is a multiple of: both tile heights. */
const ROW_UNIT = 12;
/** Numbers of A that stay in the third-level cache while the panels of B pass by: 1,056 rows of a block. */
const CACHED_NUMBERS = 1056 * MOST_DEPTH;
/** Columns that a claim is a multiple of: two panels. */
const COLUMN_UNIT = 16;
/** Claims per thread, so that one that is held up delays the others little. */
const CLAIMS = 2;

/** Rows of an array that is `row` wide. */
export function rowsAt(at: Address, row: number): Rows {
  return { at, row };
}

/** The columns of wider rows from `from` on. */
export function columnsFrom({ at, row }: Rows, from: number): Rows {
  return { at: at + from * 4, row };
}

/** The part of a product to claim at a time: its rows and its columns. */
type Shares = [number, number];

/** Few columns of many rows, which need no packing. */
export function columnShares(
  rows: number,
  columns: number,
  depth: number,
  threads: number,
): Shares {
  const across = threads === 1 ? 1 : Math.ceil(columns / COLUMN_UNIT);
  const down = Math.max(rows / mostRows(depth, CACHED_NUMBERS), claims(threads) / across);
  return [part(rows, down, ROW_UNIT), part(columns, across, COLUMN_UNIT)];
}

/** Nearly square parts, because each part packs its own rows and columns. */
export function rowShares(rows: number, columns: number, depth: number, threads: number): Shares {
  const square = Math.round(Math.sqrt((claims(threads) * rows) / columns));
  const down = Math.max(rows / mostRows(depth, PACKED_NUMBERS), square);
  const row = part(rows, down, ROW_UNIT);
  return [row, part(columns, claims(threads) / Math.ceil(rows / row), COLUMN_UNIT)];
}

/** Whole units of rows that have so many numbers in a block. */
function mostRows(depth: number, numbers: number): number {
  return Math.floor(numbers / Math.min(depth, MOST_DEPTH) / ROW_UNIT) * ROW_UNIT;
}

/** Panels to claim at a time: four long streams of them, in two claims a thread. */
function panelShare(out: number, threads: number): number {
  return part(out, threads * CLAIMS, STREAMS * PANEL) / PANEL;
}

/** Panels that are read side by side. */
const STREAMS = 4;

function claims(threads: number): number {
  return threads === 1 ? 1 : threads * CLAIMS;
}

/** The size of a part of `count`, if there are to be so many or more. */
function part(count: number, parts: number, unit: number): number {
  return Math.ceil(count / Math.ceil(Math.max(1, parts)) / unit) * unit;
}

/** The products of a linear map, each run by all threads, which wait at a barrier before they read. */
export type Products = ReturnType<typeof createProducts>;

export function createProducts(thread: Thread) {
  const { kernels, count } = thread;
  const { setA, setB, setQuantizedB, setC, product } = kernels;

  /** y [rows, out] = added + alpha · x·Wᵀ */
  function linear(rows: number, x: Rows, w: Matrix, y: Rows, added: Address = 0, alpha = 1) {
    setA(x.at, x.row, 1);
    if (w.quantized) setQuantizedB(w.at, w.in, false);
    else setB(w.at, 1, w.in, w.isBf16 ?? false);
    setC(y.at, y.row, added, alpha);
    product(rows, w.out, w.in, ...columnShares(rows, w.out, w.in, count()));
  }

  /** dx [rows, in] = added + alpha · dy·W */
  function linearBack(rows: number, dy: Rows, w: Matrix, dx: Rows, added: Address = 0, alpha = 1) {
    setA(dy.at, dy.row, 1);
    if (w.quantized) setQuantizedB(w.at, w.in, true);
    else setB(w.at, w.in, 1, w.isBf16 ?? false);
    setC(dx.at, dx.row, added, alpha);
    product(rows, w.in, w.out, ...columnShares(rows, w.in, w.out, count()));
  }

  /** dW [out, in] = added + alpha · dyᵀ·x */
  function weightBack(rows: number, dy: Rows, x: Rows, dw: Matrix, added: Address = 0, alpha = 1) {
    setA(dy.at, 1, dy.row);
    setB(x.at, x.row, 1, false);
    setC(dw.at, dw.in, added, alpha);
    product(dw.out, dw.in, rows, ...rowShares(dw.out, dw.in, rows, count()));
  }

  /**
   * y [rows, out] = added + x·Wᵀ of a matrix in panels: the same bits for a row alone and among others. It waits at no
   * barrier.
   */
  function panels(rows: number, x: Rows, w: Matrix, y: Rows, added: Address = 0) {
    kernels.panelProduct(
      ...([rows, w.out, w.in, w.at, w.isBf16 ?? false, panelShare(w.out, count())] as const),
      ...([x.at, x.row, added, y.at, y.row] as const),
    );
  }

  return { linear, linearBack, weightBack, panels, quantized: createQuantizedProducts(thread) };
}
