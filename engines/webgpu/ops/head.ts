import { wholeSlice } from "../device/array.ts";
import { type Dispatch, dispatch } from "../device/dispatch.ts";
import { crossEntropy } from "../kernels/loss.ts";
import { type RowRange, linear, linearBack, rowsIn, rowsOf, weightBack } from "./matmuls.ts";
import type { Activation, Graph, OutputHead } from "./operation.ts";

/** Maximum logits, and positions, at a time. */
const [MAX_LOGITS, MAX_POSITIONS] = [2 ** 24, 2 ** 15];

/** The selected positions' logits and loss, in chunks of positions. */
export function planHead(
  graph: Graph,
  h: Activation,
  weight: string,
  vocabulary: number,
): OutputHead {
  const { width } = h;
  const w = graph.matrix({ [weight]: vocabulary }, width);
  const { selected } = graph.limits;
  const limit = Math.floor(Math.min(MAX_LOGITS, graph.maxWords) / vocabulary);
  const positions = Math.min(selected, Math.max(1, limit), MAX_POSITIONS);
  const array = graph.scratch(positions * vocabulary);
  const logits = rowsOf(array, vocabulary);
  const { targets, lossWeights, losses } = graph.batch;
  const chunks = Array.from({ length: Math.ceil(selected / positions) }, (_, i): RowRange => ({
    kind: "selected",
    first: i * positions,
    limit: positions,
  }));

  /** Computes a chunk's losses and overwrites its logits with their gradients. */
  function measure(range: RowRange): Dispatch[] {
    const { first, limit } = range;
    return [
      ...linear(graph, { range, w, x: rowsOf(h.array, width, first * width), y: logits }),
      dispatch(
        crossEntropy,
        { first, limit, vocabulary },
        {
          targets: wholeSlice(targets),
          lossWeights: wholeSlice(lossWeights),
          logits: wholeSlice(array),
          losses: wholeSlice(losses),
        },
        (batch) => [rowsIn(batch, range), 1, 1],
      ),
    ];
  }

  return {
    loss: chunks.flatMap(measure),
    backward: (accumulates) =>
      chunks.flatMap((range) => {
        const from = range.first * width;
        const adds = accumulates || range.first > 0 ? ("itself" as const) : undefined;
        return [
          ...measure(range),
          ...linearBack(graph, { range, w, dy: logits, dx: rowsOf(h.grad, width, from) }),
          ...weightBack(graph, { range, w, dy: logits, x: rowsOf(h.array, width, from), adds }),
        ];
      }),
  };
}
