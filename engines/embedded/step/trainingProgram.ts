import type { Program } from "../kernels/team.ts";
import { createBackward } from "../model/backward.ts";
import { createForward } from "../model/forward.ts";
import { createHead } from "../model/head.ts";
import { createOptimizer } from "./optimizer.ts";
import type { TrainingPlan } from "./trainingPlan.ts";

/** The operations of a training, by their numbers. */
export const OPERATION = { gradients: 0, moreGradients: 1, norm: 2, update: 3, loss: 4 };

/** The program of every training thread: the parts of a step, or the loss alone. */
export function trainingProgram(plan: TrainingPlan): Program {
  return (thread) => {
    const { kernels, memory, seat } = thread;
    const { forward, ...again } = createForward(thread, plan.model);
    const backward = createBackward(thread, plan.model, again);
    const head = createHead(thread, plan.model);
    const optimizer = createOptimizer(thread, plan.trained, plan.sizes.options);
    const numbers = new Float64Array(memory.buffer, plan.numbers, 3);

    const gradients = (adds: boolean) => () => {
      forward();
      backward(adds);
      kernels.meet();
    };

    function norm() {
      const value = optimizer.norm();
      if (seat === 0) numbers[2] = value;
    }

    function update() {
      const [step = 0, rate = 0, before = 0] = numbers;
      optimizer.update(step, rate, before);
    }

    function loss() {
      forward();
      head.loss();
    }

    return [gradients(false), gradients(true), norm, update, loss];
  };
}
