import { createProducts } from "../kernels/products.ts";
import type { Thread } from "../kernels/team.ts";
import type { PlacedHead } from "../ops/head.ts";
import type { Head, Worker } from "../ops/operation.ts";
import { batchCounts } from "./batch.ts";
import type { GraphPlan } from "./graph.ts";

/** A model in memory. */
export interface ModelPlan extends GraphPlan, PlacedHead {}

/** The passes of a model, which all threads run alike. Each ends without a barrier. */
export interface ModelPasses {
  /** Up to the head. */
  forward: () => void;
  head: ReturnType<Head>;
  /** After both, the head's backward pass among them: the gradients of what is trained. */
  backward: (accumulate: boolean) => void;
}

export function createPasses(thread: Thread, plan: ModelPlan): ModelPasses {
  const worker: Worker = {
    ...thread,
    products: createProducts(thread),
    batch: batchCounts(thread.memory, plan.batch),
  };
  const parts = plan.parts.map(({ operations, recompute }) => ({
    recompute,
    passes: operations.map((operation) => operation(worker)),
  }));
  const head = plan.head(worker);

  function recomputePart({ recompute, passes }: (typeof parts)[number]): void {
    if (recompute === "nothing") return;
    // The last operation's result is the next part's input, which is kept.
    if (recompute === "all") return passes.slice(0, -1).forEach(({ forward }) => forward());
    thread.kernels.barrier();
    for (const pass of passes) pass.recompute?.();
  }

  return {
    head,
    forward() {
      for (const { passes } of parts) for (const { forward } of passes) forward();
    },
    backward(accumulate) {
      head.backward(accumulate);
      for (const part of parts.toReversed()) {
        recomputePart(part);
        for (const { backward } of part.passes.toReversed()) backward(accumulate);
      }
    },
  };
}
