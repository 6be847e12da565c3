import { type Evaluation, isLower } from "../../protocol/evaluation.ts";
import type { EngineEvent, EventData } from "../../protocol/event.ts";
import type { JobConfig } from "../../protocol/trainConfig.ts";

/** Decides when a training has learned all it can. The same for each engine, which is then aborted. */
export interface EarlyStopping {
  /**
   * Takes each event.
   * @returns whether the training is over with it: later events don't count
   */
  onEvent: (event: EngineEvent) => boolean;
  /** Takes what was evaluated up to the checkpoint that a training goes on from. */
  resume: (evaluations: readonly Evaluation[]) => void;
  /** The step that was the last; undefined as long as the training goes on. */
  stoppedAt: () => number | undefined;
}

type Config = Pick<JobConfig, "earlyStoppingPatience" | "saveSteps">;

export function createEarlyStopping({ earlyStoppingPatience, saveSteps }: Config): EarlyStopping {
  const patience = earlyStoppingPatience ?? Infinity;
  let steps = Infinity;
  let best: number | undefined;
  /** Evaluations since the best. */
  let waited = 0;
  let last: number | undefined;
  let isOver = false;

  function weigh({ step, evalLoss }: EventData["training.log"]): void {
    if (evalLoss === undefined || step >= steps) return;
    const isBest = isLower(evalLoss, best);
    if (isBest) best = evalLoss;
    waited = isBest ? 0 : waited + 1;
    last = waited >= patience ? step : undefined;
    // Otherwise once the step's checkpoint is saved.
    isOver = last !== undefined && step % saveSteps !== 0;
  }

  function resume(evaluations: readonly Evaluation[]): void {
    evaluations.forEach(weigh);
    isOver = last !== undefined;
  }

  function onEvent({ event, data }: EngineEvent): boolean {
    if (event === "training.started") steps = data.maxSteps;
    if (event === "training.log") weigh(data);
    if (event === "checkpoint.saved") isOver = data.step === last;
    return isOver;
  }

  return { onEvent, resume, stoppedAt: () => (isOver ? last : undefined) };
}
