import type { DeviceArray } from "../device/array.ts";
import { wholeSlice } from "../device/array.ts";
import { type Dispatch, dispatch, workgroups } from "../device/dispatch.ts";
import {
  SUM_COLUMNS,
  norm as normKernel,
  normBack,
  normWeightBack,
  residualNorm,
} from "../kernels/norm.ts";
import { type Activation, type Graph, type VectorWeight, kindIndex } from "./operation.ts";

export interface NormOptions {
  epsilon: number;
  /** Whether it multiplies by 1 + weight. */
  isCentered: boolean;
}

/** RMSNorm: y = residual + x · w / √(mean(x²) + epsilon). */
export function norm(
  graph: Graph,
  x: Activation,
  { name, residual, ...options }: NormOptions & { name: string; residual?: Activation | undefined },
): Activation {
  const weight = graph.vector(name, x.width);
  const y = residual
    ? graph.residual(residual)
    : graph.activation(x.rows, x.width, { isCheap: true });
  const rstd = graph.saved(graph.limits[x.rows], { isSmall: true });
  const rows = { x, y, heads: 1, width: x.width, from: 0, weight, rstd, ...options };
  const forward = [normRows(rows, residual?.array)];
  graph.add({
    forward,
    // The residual is saved.
    ...(!residual && { recompute: forward }),
    backward: (adds) => [...normWeightsBack(rows, adds), normRowsBack(rows, x.isResidual)],
  });
  if (residual) graph.endSegment();
  return y;
}

/** Rows of x and y, of `heads` parts of `width` columns, from a column on. */
interface NormRows extends NormOptions {
  x: Activation;
  y: Activation;
  heads: number;
  width: number;
  from: number;
  weight: VectorWeight;
  rstd: DeviceArray;
}

function paramsOf({ x, heads, width, from, isCentered }: NormRows) {
  const kind = kindIndex(x.rows);
  return { kind, heads, width, row: x.width, start: from, centered: Number(isCentered) };
}

export function normRows(rows: NormRows, residual?: DeviceArray): Dispatch {
  const { x, y, heads, weight, rstd, epsilon } = rows;
  const params = { ...paramsOf(rows), epsilon };
  const arrays = {
    x: wholeSlice(x.array),
    w: weight.weights,
    y: wholeSlice(y.array),
    rstd: wholeSlice(rstd),
  };
  const grid: Dispatch["grid"] = (batch) => workgroups(batch[x.rows] * heads);
  return residual
    ? dispatch(residualNorm, params, { ...arrays, residual: wholeSlice(residual) }, grid)
    : dispatch(normKernel, params, arrays, grid);
}

/** The gradient of x. @param adds whether to add to the previous one */
export function normRowsBack(rows: NormRows, adds: boolean): Dispatch {
  const { x, y, heads, weight, rstd } = rows;
  return dispatch(
    normBack,
    { ...paramsOf(rows), adds: Number(adds) },
    {
      x: wholeSlice(x.array),
      w: weight.weights,
      rstd: wholeSlice(rstd),
      dy: wholeSlice(y.grad),
      dx: wholeSlice(x.grad),
    },
    (batch) => workgroups(batch[x.rows] * heads),
  );
}

export function normWeightsBack(rows: NormRows, adds: boolean): Dispatch[] {
  const { x, y, width, weight, rstd } = rows;
  if (!weight.gradients) return [];
  const arrays = { x: wholeSlice(x.array), rstd: wholeSlice(rstd), dy: wholeSlice(y.grad) };
  return [
    dispatch(
      normWeightBack,
      { ...paramsOf(rows), adds: Number(adds) },
      { ...arrays, dw: weight.gradients },
      () => workgroups(Math.ceil(width / SUM_COLUMNS)),
    ),
  ];
}
