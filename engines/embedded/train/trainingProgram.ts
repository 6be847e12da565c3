import type { Program } from "../kernels/team.ts";
import { createBackward } from "../model/backward.ts";
import { createForward } from "../model/forward.ts";
import { createHead } from "../model/head.ts";
import { createOptimizer } from "./optimizer.ts";
import type { TrainingPlan } from "./trainingPlan.ts";

/** The operations of a training, by their numbers. */
export const OPERATION = { gradients: 0, moreGradients: 1, update: 2, loss: 3 };

/** What every thread of a training runs: the parts of a step, or the loss alone. */
export function trainingProgram(plan: TrainingPlan): Program {
  return (thread) => {
    const { kernels, memory, seat } = thread;
    const forward = createForward(thread, plan.model);
    const backward = createBackward(thread, plan.model);
    const head = createHead(thread, plan.model);
    const optimize = createOptimizer(thread, plan.trained, plan.sizes.options);
    const numbers = new Float64Array(memory.buffer, plan.numbers, 3);

    const gradients = (adds: boolean) => () => {
      forward();
      backward(adds);
      kernels.meet();
    };

    function update() {
      const norm = optimize(numbers[0] ?? 0, numbers[1] ?? 0);
      if (seat === 0) numbers[2] = norm;
    }

    function loss() {
      forward();
      head.loss();
    }

    return [gradients(false), gradients(true), update, loss];
  };
}
