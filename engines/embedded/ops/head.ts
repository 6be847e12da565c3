import { type Rows, rowsAt } from "../kernels/products.ts";
import { placeAnswerProduct } from "./answerProduct.ts";
import type { Activation, Graph, Head } from "./operation.ts";

/** Numbers of logits at a time, at most: 64 MiB. */
const MOST_LOGITS = 2 ** 24;
/** Numbers of a cache line. */
const LINE = 16;

/** The last operation, and where the logits of its positions lie: [positions, vocabulary]. */
export interface PlacedHead {
  head: Head;
  logits: Rows;
  vocabulary: number;
}

/**
 * The logits of the selected positions and their loss, so many positions at a time.
 */
export function placeHead(
  graph: Graph,
  h: Activation,
  weight: string,
  vocabulary: number,
): PlacedHead {
  const { width } = h;
  const w = graph.matrix({ [weight]: vocabulary }, width);
  const row = oddLines(vocabulary);
  const { selected } = graph.limits;
  // An answering model's are all there at once.
  const most = graph.cache
    ? selected
    : Math.min(selected, Math.max(1, Math.floor(MOST_LOGITS / row)));
  const logits = rowsAt(graph.own(most * row), row);
  const answer = graph.cache && placeAnswerProduct(graph, h, w);
  const { targets, lossWeights, losses } = graph.batch;

  const head: Head = (worker) => {
    const { kernels, products, batch } = worker;
    const multiply = answer?.(worker);
    /** Calls with the first of each part's positions and their count. */
    function eachPart(call: (from: number, count: number) => void) {
      // Read once: after the last barrier, the leader may have written the next batch.
      const { selected } = batch;
      for (let from = 0; from < selected; from += most) {
        call(from, Math.min(most, selected - from));
        kernels.barrier();
      }
    }
    const inputs = (at: number, from: number) => rowsAt(at + from * width * 4, width);

    /** The losses of a part, and the gradients of its logits in place of them. */
    function measure(from: number, count: number) {
      products.linear(count, inputs(h.at, from), w, logits);
      kernels.barrier();
      kernels.crossEntropy(
        ...([count, vocabulary, row, logits.at, targets + from * 4] as const),
        ...([lossWeights + from * 4, losses + from * 4] as const),
      );
    }

    return {
      forward() {
        if (!multiply) throw new Error("only an answering model has logits alone");
        multiply(logits);
      },
      loss: () => eachPart(measure),
      backward: (accumulate) =>
        eachPart((from, count) => {
          measure(from, count);
          products.linearBack(count, logits, w, inputs(h.grad.at, from));
          if (!w.grad) return;
          const added = accumulate || from > 0 ? w.grad.at : 0;
          products.weightBack(count, logits, inputs(h.at, from), w.grad, added);
        }),
    };
  };
  return { head, logits, vocabulary };
}

/**
 * The length of a long row that begins on a cache line: an odd number of lines. Where rows are a power of
 * two apart, all of a column's numbers fall on the same few places of a cache.
 */
function oddLines(count: number): number {
  return (Math.ceil(count / LINE) | 1) * LINE;
}
