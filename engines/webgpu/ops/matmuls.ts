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
  range: RowRange;
  w: MatrixWeight;
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
  { range, w, x, y, ...options }: ProductOptions & { x: Rows; y: Rows },
): Dispatch[] {
  return w.parts.flatMap(({ first, rows, weights, scales }) =>
    product(graph, {
      M: range,
      N: rows,
      K: w.in,
      isAByRow: true,
      isBByColumn: true,
      type: w.type,
      a: { ...sliceOf(x), column: 1 },
      b: { slice: weights, from: 0, row: 1, column: w.in, scales },
      c: sliceOf(columnsFrom(y, first)),
      ...options,
    }),
  );
}

/** dx [rows, in] = added + alpha · dy·W */
export function linearBack(
  graph: Graph,
  { range, w, dy, dx, adds, alpha }: ProductOptions & { dy: Rows; dx: Rows },
): Dispatch[] {
  return w.parts.flatMap(({ first, rows, weights, scales }, i) =>
    product(graph, {
      M: range,
      N: w.in,
      K: rows,
      isAByRow: true,
      isBByColumn: false,
      type: w.type,
      a: { ...sliceOf(columnsFrom(dy, first)), column: 1 },
      b: { slice: weights, from: 0, row: w.in, column: 1, scales },
      c: sliceOf(dx),
      adds: i > 0 ? "itself" : adds,
      alpha,
    }),
  );
}

/** dW [out, in] = added + alpha · dyᵀ·x */
export function weightBack(
  graph: Graph,
  { range, w, dy, x, ...options }: ProductOptions & { dy: Rows; x: Rows },
): Dispatch[] {
  return w.parts.flatMap(({ first, rows, gradients }) =>
    gradients
      ? product(graph, {
          M: rows,
          N: w.in,
          K: range,
          isAByRow: false,
          isBByColumn: false,
          type: "f32",
          a: { ...sliceOf(columnsFrom(dy, first)), row: 1, column: dy.row },
          b: { ...sliceOf(x), column: 1, scales: 0 },
          c: { slice: gradients, from: 0, row: w.in },
          ...options,
        })
      : [],
  );
}

/** Where a matrix is, and the words from one row to the next. */
interface MatrixSlice {
  slice: Slice;
  from: number;
  row: number;
}

/** With the words from one column to the next. */
interface Operand extends MatrixSlice {
  column: number;
}

interface Product
  extends
    Pick<ProductOptions, "adds" | "alpha">,
    Pick<MatmulVariant, "isAByRow" | "isBByColumn" | "type"> {
  M: number | RowRange;
  N: number;
  K: number | RowRange;
  a: Operand;
  b: Operand & { scales: number };
  c: MatrixSlice;
}

function sliceOf({ array, row, from }: Rows): MatrixSlice {
  return { slice: wholeSlice(array), from, row };
}

/** Workgroups up to which a product is split along K, and the least depth of a split. */
const [FEW_WORKGROUPS, MIN_SPLIT] = [256, 256];
/** Words of all parts of a split product: of as many full tiles as there are workgroups. */
export const MAX_SPLIT_WORDS = FEW_WORKGROUPS * 64 * 64;

function product(
  graph: Graph,
  { M, N, K, a, b, c, adds, alpha = 1, ...layout }: Product,
): Dispatch[] {
  const range = [M, K].find((size) => typeof size === "object") ?? allRows("tokens");
  const most = (size: number | RowRange) =>
    typeof size === "number" ? size : rowsIn(graph.limits, size);
  const tile = tileOf(most(M), N);
  const splits = splitsOf(tile, [most(M), N, most(K)], graph.splits.words);
  const parts = splits > 1 ? wholeSlice(graph.splits) : undefined;
  const rows = {
    M: typeof M === "number" ? M : 0,
    N,
    kind: kindIndex(range.kind),
    first: range.first,
    limit: range.limit,
    splits,
  };
  const to = {
    cFrom: c.from,
    cRow: c.row,
    adds: ADDS[typeof adds === "object" ? "added" : (adds ?? "nothing")],
    alpha,
  };
  // A binding needs some array.
  const added = typeof adds === "object" ? wholeSlice(adds) : a.slice;
  const rowCount = (batch: BatchCounts) => (typeof M === "number" ? M : rowsIn(batch, M));
  const multiply = dispatch(
    matmul({
      ...layout,
      tile,
      isAligned: isAligned([
        N,
        ...(layout.isAByRow ? [most(K)] : []),
        ...[a.from, layout.isAByRow ? a.row : a.column],
        ...[b.from, layout.isBByColumn ? b.column : b.row],
        ...(parts ? [] : [c.from, c.row]),
      ]),
    }),
    {
      ...rows,
      K: typeof K === "number" ? K : 0,
      aFrom: a.from,
      aRow: a.row,
      aColumn: a.column,
      wFrom: b.from,
      wRow: b.row,
      wColumn: b.column,
      scales: b.scales,
      ...(parts ? { cFrom: 0, cRow: N, adds: ADDS.nothing, alpha: 1 } : to),
    },
    { a: a.slice, w: b.slice, added, c: parts ?? c.slice },
    (batch) => [Math.ceil(N / tile[1]), Math.ceil(rowCount(batch) / tile[0]), splits],
  );
  if (!parts) return [multiply];
  const sum = dispatch(sumSplits, { ...rows, ...to }, { parts, added, c: c.slice }, (batch) =>
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
