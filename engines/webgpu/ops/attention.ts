import type { AttentionHeads, AttentionScores } from "../../families/layers.ts";
import { wholeSlice } from "../device/array.ts";
import { type Dispatch, dispatch, elements } from "../device/dispatch.ts";
import {
  TILE,
  attention as attentionKernel,
  attentionDots,
  keyBack,
  queryBack,
} from "../kernels/attention.ts";
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
  const params = {
    heads,
    group: heads / kvHeads,
    row: qkv.width,
    kFrom: heads * headDim,
    vFrom: (heads + kvHeads) * headDim,
    headDim,
    window: Math.min(window, NO_WINDOW),
    scale: 1 / Math.fround(Math.sqrt(queryScalar)),
  };
  const tiles =
    (count: number): Dispatch["grid"] =>
    (batch) => [Math.ceil(batch.tokens / TILE), count, 1];
  const saved = { qkv: wholeSlice(qkv.array), dy: wholeSlice(y.grad), logSums, dots, starts };
  const back = { ...saved, dqkv: wholeSlice(qkv.grad) };
  graph.add({
    forward: [
      dispatch(
        attentionKernel(headDim),
        params,
        { qkv: saved.qkv, starts, y: wholeSlice(y.array), logSums },
        tiles(heads),
      ),
    ],
    backward: () => [
      dispatch(
        attentionDots,
        { heads, headDim },
        { y: wholeSlice(y.array), dy: saved.dy, dots },
        (batch) => elements(batch.tokens * heads),
      ),
      dispatch(queryBack(headDim), params, back, tiles(heads)),
      dispatch(
        keyBack(headDim),
        params,
        { ...back, ends: wholeSlice(graph.batch.ends) },
        tiles(kvHeads),
      ),
    ],
  });
  return y;
}
