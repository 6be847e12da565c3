import type { AttentionHeads } from "../../families/layers.ts";
import { type DeviceArray, wholeSlice } from "../device/array.ts";
import { dispatch, elements } from "../device/dispatch.ts";
import { copyColumns } from "../kernels/elements.ts";
import { type NormOptions, normRows, normRowsBack, normWeightsBack } from "./norm.ts";
import { type Activation, type Graph, kindIndex } from "./operation.ts";

/** RMSNorm of each head's query and key; values are copied. */
export function headNorm(
  graph: Graph,
  x: Activation,
  { heads, kvHeads, headDim, ...options }: AttentionHeads & NormOptions,
  names: { q: string; k: string },
): Activation {
  const y = graph.activation(x.rows, x.width);
  const projection = (name: string, count: number, first: number) => ({
    ...options,
    x,
    y,
    heads: count,
    width: headDim,
    from: first * headDim,
    weight: graph.vector(name, headDim),
    rstd: graph.saved(graph.limits[x.rows] * count, { isSmall: true }),
  });
  const projections = [projection(names.q, heads, 0), projection(names.k, kvHeads, heads)];
  const width = kvHeads * headDim;
  const copy = (from: DeviceArray, to: DeviceArray) =>
    dispatch(
      copyColumns,
      { kind: kindIndex(x.rows), width, row: x.width, start: (heads + kvHeads) * headDim },
      { x: wholeSlice(from), y: wholeSlice(to) },
      (batch) => elements(batch[x.rows] * width),
    );
  graph.add({
    forward: [...projections.map((rows) => normRows(rows)), copy(x.array, y.array)],
    backward: (adds) => [
      ...projections.flatMap((rows) => [...normWeightsBack(rows, adds), normRowsBack(rows, false)]),
      copy(y.grad, x.grad),
    ],
  });
  return y;
}
