import { type Address, MAX_DEPTH, PACKED_NUMBERS } from "./kernels.ts";
import { type QuantizedMatrix, createQuantizedMatmuls } from "./quantized.ts";
import type { Thread } from "./team.ts";

/** A matrix of weights [out, in], row-major. */
export interface Matrix {
  at: Address;
  out: number;
  in: number;
  /** Whether it is bfloat16, as in the file. */
  isBf16?: boolean;
  /** If it is quantized, its row ranges, each of one type. */
  quantized?: readonly QuantizedMatrix[] | undefined;
}

/** Rows of a panel, the layout for inference (`assembly/panels.ts`). */
export const PANEL = 8;

/** Rows with a stride of `row` elements, such as columns of a wider array. */
export interface Rows {
  at: Address;
  row: number;
}

/** A claim's rows are a multiple of this: both tile heights. */
const ROW_UNIT = 12;
/** Elements of A that stay in the L3 cache while the panels of B pass by: 1,056 rows of a block. */
const CACHED_NUMBERS = 1056 * MAX_DEPTH;
/** A claim's columns are a multiple of this: two panels. */
const COLUMN_UNIT = 16;
/** Claims per thread: several, so that a delayed thread holds up the others little. */
const CLAIMS = 2;

/** Rows of an array of width `row`. */
export function rowsAt(at: Address, row: number): Rows {
  return { at, row };
}

/** The columns from `from` on. */
export function columnsFrom({ at, row }: Rows, from: number): Rows {
  return { at: at + from * 4, row };
}

/** Rows and columns of a product to claim at a time. */
type Shares = [number, number];

/** Shares with many rows and few columns, because the rows aren't packed. */
export function columnShares(
  rows: number,
  columns: number,
  depth: number,
  threads: number,
): Shares {
  const across = threads === 1 ? 1 : Math.ceil(columns / COLUMN_UNIT);
  const down = Math.max(rows / maxRows(depth, CACHED_NUMBERS), claims(threads) / across);
  return [shareOf(rows, down, ROW_UNIT), shareOf(columns, across, COLUMN_UNIT)];
}

/** Nearly square shares, because each claim packs its own rows and columns. */
export function rowShares(rows: number, columns: number, depth: number, threads: number): Shares {
  const square = Math.round(Math.sqrt((claims(threads) * rows) / columns));
  const down = Math.max(rows / maxRows(depth, PACKED_NUMBERS), square);
  const row = shareOf(rows, down, ROW_UNIT);
  return [row, shareOf(columns, claims(threads) / Math.ceil(rows / row), COLUMN_UNIT)];
}

/** Whole units of rows with at most `numbers` elements in a block. */
function maxRows(depth: number, numbers: number): number {
  return Math.floor(numbers / Math.min(depth, MAX_DEPTH) / ROW_UNIT) * ROW_UNIT;
}

/** Panels to claim at a time: four long streams, in two claims per thread. */
function panelShare(out: number, threads: number): number {
  return shareOf(out, threads * CLAIMS, STREAMS * PANEL) / PANEL;
}

/** Panels read in parallel. */
const STREAMS = 4;

function claims(threads: number): number {
  return threads === 1 ? 1 : threads * CLAIMS;
}

/** Size of a share, if `count` is divided into at least `parts`, in whole units. */
function shareOf(count: number, parts: number, unit: number): number {
  return Math.ceil(count / Math.ceil(Math.max(1, parts)) / unit) * unit;
}

/** The products of a linear layer on all threads. Each waits at a barrier before it reads, unless it says otherwise. */
export type Matmuls = ReturnType<typeof createMatmuls>;

export function createMatmuls(thread: Thread) {
  const { kernels, count } = thread;
  const { setA, setB, setQuantizedB, setC, product } = kernels;

  /** y [rows, out] = addend + alpha · x·Wᵀ */
  function linear(rows: number, x: Rows, w: Matrix, y: Rows, addend: Address = 0, alpha = 1) {
    setA(x.at, x.row, 1);
    if (w.quantized) setQuantizedB(w.at, w.in, false);
    else setB(w.at, 1, w.in, w.isBf16 ?? false);
    setC(y.at, y.row, addend, alpha);
    product(rows, w.out, w.in, ...columnShares(rows, w.out, w.in, count()));
  }

  /** dx [rows, in] = addend + alpha · dy·W */
  function linearBack(rows: number, dy: Rows, w: Matrix, dx: Rows, addend: Address = 0, alpha = 1) {
    setA(dy.at, dy.row, 1);
    if (w.quantized) setQuantizedB(w.at, w.in, true);
    else setB(w.at, w.in, 1, w.isBf16 ?? false);
    setC(dx.at, dx.row, addend, alpha);
    product(rows, w.in, w.out, ...columnShares(rows, w.in, w.out, count()));
  }

  /** dW [out, in] = addend + alpha · dyᵀ·x */
  function weightBack(rows: number, dy: Rows, x: Rows, dw: Matrix, addend: Address = 0, alpha = 1) {
    setA(dy.at, 1, dy.row);
    setB(x.at, x.row, 1, false);
    setC(dw.at, dw.in, addend, alpha);
    product(dw.out, dw.in, rows, ...rowShares(dw.out, dw.in, rows, count()));
  }

  /** y [rows, out] = addend + x·Wᵀ for a matrix in panels. The batch never changes a row's bits. No barrier. */
  function panels(rows: number, x: Rows, w: Matrix, y: Rows, addend: Address = 0) {
    kernels.panelProduct(
      rows,
      w.out,
      w.in,
      w.at,
      w.isBf16 ?? false,
      panelShare(w.out, count()),
      x.at,
      x.row,
      addend,
      y.at,
      y.row,
    );
  }

  return { linear, linearBack, weightBack, panels, quantized: createQuantizedMatmuls(thread) };
}
