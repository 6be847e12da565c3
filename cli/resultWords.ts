import { type Evaluation, isLower } from "../protocol/evaluation.ts";
import type { Artifact, EventData, Measured } from "../protocol/event.ts";

/** Gathers what a job came to, in words for the one line with which `kit start` ends. */
export interface ResultWords {
  begin: (data: EventData["training.started"]) => void;
  add: (data: EventData["training.log"]) => void;
  /** The last loss and the best evaluation; empty without both. */
  losses: () => string;
  /** Where an artifact lies, how good it is if it isn't the best, and how to ask it. */
  saved: (artifact: Artifact) => string;
}

/**
 * @param place an artifact's path in words
 * @param asking the command that asks the job's model
 * @param formatLoss without blanks
 */
export function createResultWords(
  place: (artifact: Artifact) => string,
  asking: string,
  formatLoss: (loss: Measured | undefined) => string,
): ResultWords {
  const evalLosses = new Map<number, Measured>();
  let lastLoss: Measured | undefined;
  let best: Evaluation | undefined;

  function saved(artifact: Artifact): string {
    const { step } = artifact;
    const evalLoss = evalLosses.get(step);
    const words = evalLoss === undefined ? "not evaluated" : `evalLoss ${formatLoss(evalLoss)}`;
    const comparison = !best || best.step === step ? "" : ` (${words})`;
    return `saved in ${place(artifact)}${comparison}; try it: ${asking}`;
  }

  return {
    begin({ resumedBest }) {
      best = resumedBest;
    },
    add({ step, loss, evalLoss }) {
      lastLoss = loss ?? lastLoss;
      if (evalLoss !== undefined) evalLosses.set(step, evalLoss);
      if (isLower(evalLoss, best?.evalLoss)) best = { step, evalLoss };
    },
    losses: () =>
      [
        ...(typeof lastLoss === "number" ? [`loss ${formatLoss(lastLoss)}`] : []),
        ...(best ? [`best evalLoss ${formatLoss(best.evalLoss)} at step ${best.step}`] : []),
      ].join(", "),
    saved,
  };
}
