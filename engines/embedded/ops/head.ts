import { type Rows, rowsAt } from "../kernels/matmuls.ts";
import { planInferenceMatmul } from "./inferenceMatmul.ts";
import type { Activation, Graph, OutputHead } from "./operation.ts";

/** Maximum logits in memory at a time: 64 MiB. */
const MAX_LOGITS = 2 ** 24;
/** float32 elements of a cache line. */
const LINE = 16;

/** The last operation, and its logits [positions, vocabulary]. */
export interface PlannedHead {
  head: OutputHead;
  logits: Rows;
  vocabulary: number;
}

/** The selected positions' logits and loss, in chunks of positions. */
export function planHead(
  graph: Graph,
  h: Activation,
  weight: string,
  vocabulary: number,
): PlannedHead {
  const { width } = h;
  const w = graph.matrix({ [weight]: vocabulary }, width);
  const row = toOddLines(vocabulary);
  const { selected } = graph.limits;
  // Inference needs the logits of all positions at once.
  const maxPositions = graph.cache
    ? selected
    : Math.min(selected, Math.max(1, Math.floor(MAX_LOGITS / row)));
  const logits = rowsAt(graph.persistent(maxPositions * row), row);
  const inference = graph.cache && planInferenceMatmul(graph, h, w);
  const { targets, lossWeights, losses } = graph.batch;

  const head: OutputHead = (context) => {
    const { kernels, matmuls, batch } = context;
    const multiply = inference?.(context);
    /** Calls a function with the first position and size of each chunk. */
    function forEachChunk(call: (from: number, count: number) => void) {
      // Read once, because after the last barrier the leader may have written the next batch.
      const { selected } = batch;
      for (let from = 0; from < selected; from += maxPositions) {
        call(from, Math.min(maxPositions, selected - from));
        kernels.barrier();
      }
    }
    const inputs = (at: number, from: number) => rowsAt(at + from * width * 4, width);

    /** Computes a chunk's losses and overwrites its logits with their gradients. */
    function computeLosses(from: number, count: number) {
      matmuls.linear(count, inputs(h.at, from), w, logits);
      kernels.barrier();
      kernels.crossEntropy(
        count,
        vocabulary,
        row,
        logits.at,
        targets + from * 4,
        lossWeights + from * 4,
        losses + from * 4,
      );
    }

    return {
      forward() {
        if (!multiply) throw new Error("only an inference model has logits without a loss");
        multiply(logits);
      },
      loss: () => forEachChunk(computeLosses),
      backward: (accumulate) =>
        forEachChunk((from, count) => {
          computeLosses(from, count);
          matmuls.linearBack(count, logits, w, inputs(h.grad.at, from));
          if (!w.grad) return;
          const addend = accumulate || from > 0 ? w.grad.at : 0;
          matmuls.weightBack(count, logits, inputs(h.at, from), w.grad, addend);
        }),
    };
  };
  return { head, logits, vocabulary };
}

/**
 * Rounds a row up to an odd number of cache lines: with a stride of a power of two, a column's elements would share a
 * few cache sets.
 */
function toOddLines(count: number): number {
  return (Math.ceil(count / LINE) | 1) * LINE;
}
