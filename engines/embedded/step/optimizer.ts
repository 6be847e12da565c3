import { ADAMW, clipScale } from "../../training/backend.ts";
import { type Address, SUM_SHARE } from "../kernels/kernels.ts";
import type { Thread } from "../kernels/team.ts";
import type { TrainedGroup } from "../model/tensors.ts";

/** Groups between two barriers: fewer than the kernels' `OPERATIONS`. */
const GROUPS_PER_BARRIER = 12;
const DOUBLE_BYTES = 8;

/** Number of float64 partial sums that `createOptimizer` needs. */
export function partialCount(groups: readonly TrainedGroup[]): number {
  return groups.reduce((sum, { count }) => sum + Math.ceil(count / SUM_SHARE), 0);
}

export interface Optimizer {
  /** The gradients' global L2 norm. */
  norm: () => number;
  /** @param step counted from 1 @param norm the gradients' current norm */
  update: (step: number, rate: number, norm: number) => void;
}

/**
 * AdamW on all threads, with gradients clipped to a global norm of `maxGradNorm`.
 * @param partials float64 [partialCount]
 */
export function createOptimizer(
  { kernels, memory }: Thread,
  groups: readonly TrainedGroup[],
  partials: Address,
  { weightDecay, maxGradNorm }: { weightDecay: number; maxGradNorm: number },
): Optimizer {
  const { barrier } = kernels;
  const sums = new Float64Array(memory.buffer, partials, partialCount(groups));

  /** The threads compute partial sums of squares. Then each thread adds up all of them, in the same order. */
  function norm(): number {
    let to = partials;
    groups.forEach(({ gradients, count }, i) => {
      if (i % GROUPS_PER_BARRIER === 0) barrier();
      kernels.sumOfSquares(count, gradients, to);
      to += Math.ceil(count / SUM_SHARE) * DOUBLE_BYTES;
    });
    barrier();
    let total = 0;
    for (const sum of sums) total += sum;
    return Math.sqrt(total);
  }

  function update(step: number, rate: number, gradNorm: number): void {
    const { beta1, beta2, epsilon } = ADAMW;
    const scale = clipScale(gradNorm, maxGradNorm);
    const [bias1, bias2] = [1 - beta1 ** step, 1 - beta2 ** step];
    groups.forEach(({ count, decays, weights, gradients, firstMoments, secondMoments }, i) => {
      if (i % GROUPS_PER_BARRIER === GROUPS_PER_BARRIER - 1) barrier();
      const decay = decays ? weightDecay : 0;
      kernels.setAdamw(scale, rate, decay, beta1, beta2, bias1, bias2, epsilon);
      kernels.adamw(count, weights, gradients, firstMoments, secondMoments);
    });
    barrier();
  }

  return { norm, update };
}
