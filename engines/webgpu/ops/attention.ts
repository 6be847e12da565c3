import type { AttentionHeads, AttentionScores } from "../../families/layers.ts";
import { wholeSlice } from "../device/array.ts";
import { type Dispatch, dispatch, elements } from "../device/dispatch.ts";
import { attention as attentionKernel, keyBack, queryBack } from "../kernels/attention.ts";
import { TILE } from "../kernels/attentionTiles.ts";
import { groupSums } from "../kernels/elements.ts";
import type { Activation, Graph } from "./operation.ts";

/** A window longer than any sequence. */
const NO_WINDOW = 2 ** 30;

/** Causal attention within each sequence, by tiles, without the matrix of scores. */
export function attention(
  graph: Graph,
  qkv: Activation,
  { heads, kvHeads, headDim }: AttentionHeads,
  { queryScalar, window = NO_WINDOW }: AttentionScores,
): Activation {
  const { tokens } = graph.limits;
  const y = graph.activation("tokens", heads * headDim);
  const logSums = wholeSlice(graph.saved(tokens * heads, { isSmall: true }));
  const dots = wholeSlice(graph.scratch(tokens * heads));
  const starts = wholeSlice(graph.batch.starts);
  const group = heads / kvHeads;
  const kFrom = heads * headDim;
  const params = {
    heads,
    group,
    headDim,
    row: qkv.width,
    kFrom,
    vFrom: (heads + kvHeads) * headDim,
    window: Math.min(window, NO_WINDOW),
    scale: 1 / Math.fround(Math.sqrt(queryScalar)),
    limit: tokens,
  };
  const tiles: Dispatch["grid"] = (batch) => [heads, Math.ceil(batch.tokens / TILE), 1];
  const inputs = { qkv: wholeSlice(qkv.array), logSums, starts };
  const back = { ...inputs, dy: wholeSlice(y.grad), dots };
  const dqkv = wholeSlice(qkv.grad);
  // Each head's gradients of keys and values, if a group's are to be summed.
  const parts = group > 1 ? wholeSlice(graph.scratch(2 * tokens * kFrom)) : undefined;
  const to = parts
    ? { toRow: 2 * kFrom, kTo: 0, vTo: kFrom }
    : { toRow: qkv.width, kTo: kFrom, vTo: params.vFrom };
  const width = 2 * kvHeads * headDim;
  graph.add({
    forward: [
      dispatch(attentionKernel(headDim), params, { ...inputs, y: wholeSlice(y.array) }, tiles),
    ],
    backward: () => [
      dispatch(queryBack(headDim), params, { ...back, y: wholeSlice(y.array), dqkv }, tiles),
      dispatch(
        keyBack(headDim),
        { ...params, ...to },
        { ...back, ends: wholeSlice(graph.batch.ends), dkv: parts ?? dqkv },
        tiles,
      ),
      ...(parts
        ? [
            dispatch(
              groupSums,
              { group, headDim, width, row: qkv.width, kFrom },
              { parts, dqkv },
              (batch) => elements(batch.tokens * width),
            ),
          ]
        : []),
    ],
  });
  return y;
}
