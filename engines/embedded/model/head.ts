import type { Thread } from "../kernels/team.ts";
import { createLinear } from "./linear.ts";
import { type ModelPlan, rowsAt } from "./model.ts";

/** The output head: all that follows the final norm. Every thread calls it alike. */
export interface Head {
  /** Each position's loss. */
  loss: () => void;
  /**
   * Each position's loss, and the way back to the final norm.
   * @param adds whether to the gradients that are there
   */
  lossBack: (adds: boolean) => void;
}

/** Logits and the loss, so many positions at a time. */
export function createHead(thread: Thread, plan: ModelPlan): Head {
  const { kernels } = thread;
  const { dimensions: d, weights, gradients, activations: acts, backlog: back } = plan;
  const n = acts.rows * acts.length;
  const { products } = createLinear(thread, n, 1);
  const logits = rowsAt(acts.logits, acts.logitsRow);
  const parts = Array.from({ length: Math.ceil(n / acts.headRows) }, (_, part) => {
    const from = part * acts.headRows;
    const h = rowsAt(acts.h + from * d.width * 4, d.width);
    const dh = rowsAt(back.dh + from * d.width * 4, d.width);
    return { from, count: Math.min(acts.headRows, n - from), h, dh };
  });

  /** The losses of a part, and the gradients of its logits in place of them. */
  function measure({ from, count, h }: (typeof parts)[number]) {
    products.linear(count, h, weights.head, logits);
    kernels.meet();
    kernels.crossEntropy(
      ...([count, d.vocabulary, acts.logitsRow, acts.logits] as const),
      ...([acts.targets + from * 4, acts.lossWeights + from * 4, acts.losses + from * 4] as const),
    );
  }

  function loss() {
    for (const part of parts) {
      measure(part);
      kernels.meet();
    }
  }

  function lossBack(adds: boolean) {
    for (const part of parts) {
      const { from, count, h, dh } = part;
      measure(part);
      products.linearBack(count, logits, weights.head, dh);
      const dw = gradients?.head;
      if (dw) products.weightBack(count, logits, h, dw, adds || from > 0 ? dw.at : 0);
      kernels.meet();
    }
  }

  return { loss, lossBack };
}
