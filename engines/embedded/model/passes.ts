import { createMatmuls } from "../kernels/matmuls.ts";
import type { Thread } from "../kernels/team.ts";
import type { PlannedHead } from "../ops/head.ts";
import type { OutputHead, OperationContext } from "../ops/operation.ts";
import { batchCounts } from "./batch.ts";
import type { GraphPlan } from "./graph.ts";

export interface ModelPlan extends GraphPlan, PlannedHead {}

/** A model's passes, the same on all threads. A caller must wait at a barrier before it reads their results. */
export interface ModelPasses {
  /** Up to the head. */
  forward: () => void;
  head: ReturnType<OutputHead>;
  /** Includes the head's backward pass. `forward` must come first; the head's passes needn't. */
  backward: (accumulate: boolean) => void;
}

export function createPasses(thread: Thread, plan: ModelPlan): ModelPasses {
  const context: OperationContext = {
    ...thread,
    matmuls: createMatmuls(thread),
    batch: batchCounts(thread.memory, plan.batch),
  };
  const segments = plan.segments.map(({ operations, recompute }) => ({
    recompute,
    passes: operations.map((operation) => operation(context)),
  }));
  const head = plan.head(context);

  function recomputeSegment({ recompute, passes }: (typeof segments)[number]): void {
    if (recompute === "nothing") return;
    // The last operation's result is saved, because it is the next segment's input.
    if (recompute === "all") return passes.slice(0, -1).forEach(({ forward }) => forward());
    // Other threads may still read the shared arrays for the following segment.
    thread.kernels.barrier();
    for (const pass of passes) pass.recompute?.();
  }

  return {
    head,
    forward() {
      for (const { passes } of segments) for (const { forward } of passes) forward();
    },
    backward(accumulate) {
      head.backward(accumulate);
      for (const segment of segments.toReversed()) {
        recomputeSegment(segment);
        for (const { backward } of segment.passes.toReversed()) backward(accumulate);
      }
    },
  };
}
