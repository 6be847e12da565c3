import type { Address } from "./kernels.ts";
import type { Thread } from "./team.ts";

/** A matrix of weights [out, in], row-major. */
export interface Matrix {
  at: Address;
  out: number;
  in: number;
  /** Whether its numbers are bfloat16, as in the file. */
  half?: boolean;
}

/** Rows that lie `row` elements apart; a part of a wider array has its rows farther apart. */
export interface Rows {
  at: Address;
  row: number;
}

/** Rows that a claim is a multiple of: both tile heights. */
const ROW_UNIT = 12;
const MOST_ROWS = 96;
/** Claims per thread, so that one that is held up delays the others little. */
const CLAIMS = 4;

/** Rows to claim at a time. */
export function shareOf(rows: number, threads: number): number {
  if (threads === 1) return MOST_ROWS;
  const even = Math.ceil(rows / (threads * CLAIMS * ROW_UNIT)) * ROW_UNIT;
  return Math.min(MOST_ROWS, even);
}

/**
 * The products of a linear map, each run by all threads. They meet once the weights (or x, in
 * `weightBack`) are packed; only then x, dy and what is added are read.
 */
export function createProducts({ kernels, count }: Thread) {
  const { setA, setB, setC, product } = kernels;

  /** y [rows, out] = added + alpha · x·Wᵀ */
  function linear(rows: number, x: Rows, w: Matrix, y: Rows, added: Address = 0, alpha = 1) {
    setA(x.at, x.row, 1);
    setB(w.at, 1, w.in, w.half ? 1 : 0);
    setC(y.at, y.row, added, alpha);
    product(rows, w.out, w.in, shareOf(rows, count()));
  }

  /** dx [rows, in] = added + alpha · dy·W */
  function linearBack(rows: number, dy: Rows, w: Matrix, dx: Rows, added: Address = 0, alpha = 1) {
    setA(dy.at, dy.row, 1);
    setB(w.at, w.in, 1, w.half ? 1 : 0);
    setC(dx.at, dx.row, added, alpha);
    product(rows, w.in, w.out, shareOf(rows, count()));
  }

  /** dW [out, in] = added + alpha · dyᵀ·x */
  function weightBack(rows: number, dy: Rows, x: Rows, dw: Matrix, added: Address = 0, alpha = 1) {
    setA(dy.at, 1, dy.row);
    setB(x.at, x.row, 1, 0);
    setC(dw.at, dw.in, added, alpha);
    product(dw.out, dw.in, rows, shareOf(dw.out, count()));
  }

  return { linear, linearBack, weightBack };
}
