import type { Program } from "../kernels/team.ts";
import { createPasses } from "../model/passes.ts";
import { createOptimizer } from "./optimizer.ts";
import type { TrainingPlan } from "./trainingPlan.ts";

/** Indices of a training thread's operations. 0 to 3 are those of `gradientOperation`. */
export const OPERATION = { norm: 4, update: 5, loss: 6 };

interface GradientOptions {
  /** Whether to add to the previous gradients. */
  accumulate: boolean;
  /** Whether this batch's loss was the last operation. */
  isForwardDone: boolean;
}

/** Index of the operation that computes gradients. */
export function gradientOperation({ accumulate, isForwardDone }: GradientOptions): number {
  return Number(accumulate) + 2 * Number(isForwardDone);
}

/** The program of every training thread. */
export function trainingProgram(plan: TrainingPlan): Program {
  return (thread) => {
    const { kernels, memory, threadIndex } = thread;
    const { forward, head, backward } = createPasses(thread, plan.model);
    const { groups } = plan.model.tensors;
    const optimizer = createOptimizer(thread, groups, plan.partials, plan.sizes.options);
    const stepScalars = new Float64Array(memory.buffer, plan.stepScalars, 3);

    const gradients = (accumulate: boolean, isForwardDone: boolean) => () => {
      if (!isForwardDone) forward();
      backward(accumulate);
      kernels.barrier();
    };

    function norm() {
      const value = optimizer.norm();
      if (threadIndex === 0) stepScalars[2] = value;
    }

    function update() {
      const [step = 0, rate = 0, gradNorm = 0] = stepScalars;
      optimizer.update(step, rate, gradNorm);
    }

    function loss() {
      forward();
      head.loss();
    }

    return [
      gradients(false, false),
      gradients(true, false),
      gradients(false, true),
      gradients(true, true),
      norm,
      update,
      loss,
    ];
  };
}
