import type { Program } from "../kernels/team.ts";
import { createBackward } from "../model/backward.ts";
import { createForward } from "../model/forward.ts";
import { createOptimizer } from "./optimizer.ts";
import type { TrainingPlan } from "./trainingPlan.ts";

/** The operations of a training, by their numbers. */
export const OPERATION = { learn: 0, gradients: 1 };

/** What every thread of a training runs: a step, or its gradients alone. */
export function trainingProgram(plan: TrainingPlan): Program {
  return (thread) => {
    const { kernels, memory, seat } = thread;
    const forward = createForward(thread, plan.model);
    const backward = createBackward(thread, plan.model);
    const optimize = createOptimizer(thread, plan.trained, plan.sizes.options);
    const numbers = new Float64Array(memory.buffer, plan.numbers, 3);

    function gradients() {
      forward();
      backward();
      kernels.meet();
    }

    function learn() {
      forward();
      backward();
      const norm = optimize(numbers[0] ?? 0, numbers[1] ?? 0);
      if (seat === 0) numbers[2] = norm;
    }

    return [learn, gradients];
  };
}
