import { type DeviceArray, type Slice, wholeSlice } from "../device/array.ts";
import { type BatchCounts, type Dispatch, dispatch } from "../device/dispatch.ts";
import { type MatmulVariant, type Tile, matmul } from "../kernels/matmul.ts";
import { type MatrixWeight, type RowKind, kindIndex } from "./operation.ts";

/** Rows of an array, or some columns of them. */
export interface Rows {
  array: DeviceArray;
  /** Words from one row to the next. */
  row: number;
  /** The first word. */
  from: number;
}

/** Rows of the batch: those of a kind, from `first`, at most `limit`. */
export interface RowRange {
  kind: RowKind;
  first: number;
  limit: number;
}

interface ProductOptions {
  /** What the product is added to. Default: nothing. */
  adds?: "itself" | DeviceArray | undefined;
  alpha?: number;
}

export function rowsOf(array: DeviceArray, row: number, from = 0): Rows {
  return { array, row, from };
}

/** All rows of a kind. */
export function allRows(kind: RowKind): RowRange {
  return { kind, first: 0, limit: MAX_ROWS };
}

const MAX_ROWS = 2 ** 31;

/** y [rows, out] = added + alpha · x·Wᵀ */
export function linear(
  range: RowRange,
  x: Rows,
  w: MatrixWeight,
  y: Rows,
  { adds, alpha = 1 }: ProductOptions = {},
): Dispatch[] {
  return w.parts.map(({ first, rows: N, weights, scales }) =>
    product(
      { M: range, N, K: w.in },
      { isAByRow: true, isBByColumn: true, type: w.type },
      { x, xColumn: 1, w: { slice: weights, from: 0, row: 1, column: w.in, scales } },
      { y: rowsOf(y.array, y.row, y.from + first), adds, alpha },
    ),
  );
}

/** dx [rows, in] = added + alpha · dy·W */
export function linearBack(
  range: RowRange,
  dy: Rows,
  w: MatrixWeight,
  dx: Rows,
  { adds, alpha = 1 }: ProductOptions = {},
): Dispatch[] {
  return w.parts.map(({ first, rows: K, weights, scales }, i) =>
    product(
      { M: range, N: w.in, K },
      { isAByRow: true, isBByColumn: false, type: w.type },
      {
        x: rowsOf(dy.array, dy.row, dy.from + first),
        xColumn: 1,
        w: { slice: weights, from: 0, row: w.in, column: 1, scales },
      },
      { y: dx, adds: i > 0 ? "itself" : adds, alpha },
    ),
  );
}

/** dW [out, in] = added + alpha · dyᵀ·x */
export function weightBack(
  range: RowRange,
  dy: Rows,
  x: Rows,
  w: MatrixWeight,
  { adds, alpha = 1 }: ProductOptions = {},
): Dispatch[] {
  return w.parts.flatMap(({ first, rows: M, gradients }) =>
    gradients
      ? product(
          { M, N: w.in, K: range },
          { isAByRow: false, isBByColumn: false, type: "f32" },
          {
            x: rowsOf(dy.array, 1, dy.from + first),
            xColumn: dy.row,
            w: { slice: wholeSlice(x.array), from: x.from, row: x.row, column: 1, scales: 0 },
          },
          { y: { slice: gradients, row: w.in }, adds, alpha },
        )
      : [],
  );
}

interface Sizes {
  M: number | RowRange;
  N: number;
  K: number | RowRange;
}

interface Inputs {
  x: Rows;
  xColumn: number;
  w: { slice: Slice; from: number; row: number; column: number; scales: number };
}

interface Output extends ProductOptions {
  y: Rows | { slice: Slice; row: number };
  alpha: number;
}

function product(
  { M, N, K }: Sizes,
  layout: Omit<MatmulVariant, "tile" | "addsOther">,
  { x, xColumn, w }: Inputs,
  { y, adds, alpha }: Output,
): Dispatch {
  const range = [M, K].find((size) => typeof size === "object") ?? allRows("tokens");
  const tile = tileOf(typeof M === "number" ? M : MAX_ROWS, N);
  const [rows, columns] = tile;
  const addsOther = typeof adds === "object";
  const kernel = matmul({ ...layout, tile, addsOther });
  return dispatch(
    kernel,
    {
      M: typeof M === "number" ? M : 0,
      N,
      K: typeof K === "number" ? K : 0,
      kind: kindIndex(range.kind),
      first: range.first,
      limit: range.limit,
      aFrom: x.from,
      aRow: x.row,
      aColumn: xColumn,
      wFrom: w.from,
      wRow: w.row,
      wColumn: w.column,
      scales: w.scales,
      cFrom: "from" in y ? y.from : 0,
      cRow: y.row,
      adds: Number(adds === "itself"),
      alpha,
    },
    {
      a: wholeSlice(x.array),
      w: w.slice,
      ...(addsOther && { added: wholeSlice(adds) }),
      c: "slice" in y ? y.slice : wholeSlice(y.array),
    },
    (batch) => [
      Math.ceil(N / columns),
      Math.ceil((typeof M === "number" ? M : rowsIn(batch, M)) / rows),
      1,
    ],
  );
}

/** Rows of a range that a batch has. */
export function rowsIn(batch: BatchCounts, { kind, first, limit }: RowRange): number {
  return Math.max(0, Math.min(limit, batch[kind] - first));
}

/** Long tiles for a result of few rows or columns, as of an adapter. */
function tileOf(M: number, N: number): Tile {
  if (N <= 16) return [256, 16];
  return M <= 16 ? [16, 256] : [64, 64];
}
