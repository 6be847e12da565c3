import { type DeviceArray, type Slice, wholeSlice } from "../device/array.ts";
import { type BatchCounts, type Dispatch, dispatch, elements } from "../device/dispatch.ts";
import { type MatmulVariant, type Tile, ADDS, matmul, sumSplits } from "../kernels/matmul.ts";
import { type Graph, type MatrixWeight, type RowKind, kindIndex } from "./operation.ts";

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

export function columnsFrom(rows: Rows, column: number): Rows {
  return { ...rows, from: rows.from + column };
}

/** All rows of a kind. */
export function allRows(kind: RowKind): RowRange {
  return { kind, first: 0, limit: MAX_ROWS };
}

const MAX_ROWS = 2 ** 31;

/** y [rows, out] = added + alpha · x·Wᵀ */
export function linear(
  graph: Graph,
  range: RowRange,
  x: Rows,
  w: MatrixWeight,
  y: Rows,
  { adds, alpha = 1 }: ProductOptions = {},
): Dispatch[] {
  return w.parts.flatMap(({ first, rows: N, weights, scales }) =>
    product(
      graph,
      { M: range, N, K: w.in },
      { isAByRow: true, isBByColumn: true, type: w.type },
      { x, xColumn: 1, w: { slice: weights, from: 0, row: 1, column: w.in, scales } },
      { y: rowsOf(y.array, y.row, y.from + first), adds, alpha },
    ),
  );
}

/** dx [rows, in] = added + alpha · dy·W */
export function linearBack(
  graph: Graph,
  range: RowRange,
  dy: Rows,
  w: MatrixWeight,
  dx: Rows,
  { adds, alpha = 1 }: ProductOptions = {},
): Dispatch[] {
  return w.parts.flatMap(({ first, rows: K, weights, scales }, i) =>
    product(
      graph,
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
  graph: Graph,
  range: RowRange,
  dy: Rows,
  x: Rows,
  w: MatrixWeight,
  { adds, alpha = 1 }: ProductOptions = {},
): Dispatch[] {
  return w.parts.flatMap(({ first, rows: M, gradients }) =>
    gradients
      ? product(
          graph,
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

/** Workgroups up to which a product is split along K, and the least depth of a split. */
const [FEW_WORKGROUPS, MIN_SPLIT] = [256, 256];
/** Words of all parts of a split product: of as many full tiles as there are workgroups. */
export const MAX_SPLIT_WORDS = FEW_WORKGROUPS * 64 * 64;

function product(
  graph: Graph,
  sizes: Sizes,
  layout: Pick<MatmulVariant, "isAByRow" | "isBByColumn" | "type">,
  { x, xColumn, w }: Inputs,
  { y, adds, alpha }: Output,
): Dispatch[] {
  const { M, N, K } = sizes;
  const range = [M, K].find((size) => typeof size === "object") ?? allRows("tokens");
  const most = (size: number | RowRange) =>
    typeof size === "number" ? size : rowsIn(graph.limits, size);
  const tile = tileOf(most(M), N);
  const splits = splitsOf(tile, [most(M), N, most(K)], graph.splits.words);
  const isSplit = splits > 1;
  const rows = {
    M: typeof M === "number" ? M : 0,
    N,
    kind: kindIndex(range.kind),
    first: range.first,
    limit: range.limit,
    splits,
  };
  const to = {
    cFrom: "from" in y ? y.from : 0,
    cRow: y.row,
    adds: ADDS[typeof adds === "object" ? "added" : (adds ?? "nothing")],
    alpha,
  };
  const c = "slice" in y ? y.slice : wholeSlice(y.array);
  // A binding needs some array.
  const added = wholeSlice(typeof adds === "object" ? adds : x.array);
  const rowCount = (batch: BatchCounts) => (typeof M === "number" ? M : rowsIn(batch, M));
  const parts = isSplit ? wholeSlice(graph.splits) : undefined;
  const multiply = dispatch(
    matmul({
      ...layout,
      tile,
      isAligned: isAligned([
        N,
        ...(layout.isAByRow ? [most(K)] : []),
        ...[x.from, layout.isAByRow ? x.row : xColumn],
        ...[w.from, layout.isBByColumn ? w.column : w.row],
        ...(isSplit ? [] : [to.cFrom, to.cRow]),
      ]),
    }),
    {
      ...rows,
      K: typeof K === "number" ? K : 0,
      aFrom: x.from,
      aRow: x.row,
      aColumn: xColumn,
      wFrom: w.from,
      wRow: w.row,
      wColumn: w.column,
      scales: w.scales,
      ...(isSplit ? { cFrom: 0, cRow: N, adds: ADDS.nothing, alpha: 1 } : to),
    },
    { a: wholeSlice(x.array), w: w.slice, added, c: parts ?? c },
    (batch) => [Math.ceil(N / tile[1]), Math.ceil(rowCount(batch) / tile[0]), splits],
  );
  if (!parts) return [multiply];
  const sum = dispatch(sumSplits, { ...rows, ...to }, { parts, added, c }, (batch) =>
    elements(rowCount(batch) * N),
  );
  return [multiply, sum];
}

function isAligned(sizes: readonly number[]): boolean {
  return sizes.every((size) => size % 4 === 0);
}

/** Rows of a range that a batch has. */
export function rowsIn(
  batch: Pick<BatchCounts, RowKind>,
  { kind, first, limit }: RowRange,
): number {
  return Math.max(0, Math.min(limit, batch[kind] - first));
}

/** Narrow tiles for a result of few rows or columns, as of an adapter. */
function tileOf(M: number, N: number): Tile {
  if (N <= 16) return [64, 16];
  return M <= 16 ? [16, 64] : [64, 64];
}

/**
 * Into how many parts K is split, so that a deep product of few tiles keeps the GPU busy.
 * @param maxWords of all parts
 */
function splitsOf(
  [rows, columns]: Tile,
  [M, N, K]: readonly [number, number, number],
  maxWords: number,
): number {
  const workgroups = Math.ceil(M / rows) * Math.ceil(N / columns);
  const limits = [FEW_WORKGROUPS / workgroups, K / MIN_SPLIT, maxWords / M / N];
  return Math.max(1, Math.floor(Math.min(...limits)));
}
