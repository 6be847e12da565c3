import type { EngineEvent } from "../protocol/event.ts";
import type { JobConfig } from "../protocol/trainConfig.ts";

/** Decides when a training has learned all it can. The same for each engine, which is then aborted. */
export interface EarlyStopping {
  /**
   * Takes each event.
   * @returns whether the training is over with it: later events don't count
   */
  see: (event: EngineEvent) => boolean;
  /** The step that was the last; undefined as long as the training goes on. */
  stoppedAt: () => number | undefined;
}

type Config = Pick<JobConfig, "earlyStoppingPatience" | "saveSteps">;

export function createEarlyStopping({ earlyStoppingPatience, saveSteps }: Config): EarlyStopping {
  const patience = earlyStoppingPatience ?? Infinity;
  let steps = Infinity;
  let best = Infinity;
  /** Evaluations since the best. */
  let waited = 0;
  let last: number | undefined;
  let isOver = false;

  function see(event: EngineEvent): boolean {
    if (event.event === "training.started") {
      steps = event.data.maxSteps;
    } else if (event.event === "checkpoint.saved") {
      isOver = event.data.step === last;
    } else if (event.data.evalLoss !== undefined && event.data.step < steps) {
      const { step } = event.data;
      const evalLoss = event.data.evalLoss ?? Infinity;
      waited = evalLoss < best ? 0 : waited + 1;
      best = Math.min(best, evalLoss);
      if (waited >= patience) last = step;
      // Otherwise once the step's checkpoint is saved.
      isOver = last !== undefined && step % saveSteps !== 0;
    }
    return isOver;
  }

  return { see, stoppedAt: () => (isOver ? last : undefined) };
}
