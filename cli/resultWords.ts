import type { Artifact, Measured } from "../protocol/event.ts";
import { AGAINST_RISE, risenFrom } from "../protocol/lossEnds.ts";
import type { Progress } from "../protocol/progress.ts";

/** How a result is put into words. */
export interface Words {
  /** An artifact's path. */
  place: (artifact: Artifact) => string;
  /** The command that asks the job's model. */
  asking: string;
  /** Without blanks. */
  formatLoss: (loss: Measured | undefined) => string;
}

/** The last loss, what to try if the training ended above its first, and the best evaluation. */
export function lossesOf({ loss, best, lossEnds }: Progress, { formatLoss }: Words): string {
  const last = loss === undefined ? [] : [`loss ${formatLoss(loss)}`];
  const evaluation = best
    ? [`best evalLoss ${formatLoss(best.evalLoss)} at step ${best.step}`]
    : [];
  const first = risenFrom(lossEnds);
  const risen =
    first === undefined ? "" : `, above the ${formatLoss(first)} where it began: ${AGAINST_RISE}`;
  return [...last, ...evaluation].join(", ") + risen;
}

/** An artifact, and its evaluation if there is one, finite or not. */
export interface Result {
  artifact: Artifact;
  evalLoss?: Measured | undefined;
}

/** Where the result lies, how good it is if it isn't the best, and how to ask it. */
export function resultOf(
  { artifact, evalLoss }: Result,
  { best }: Progress,
  { place, asking, formatLoss }: Words,
): string {
  const words = evalLoss === undefined ? "not evaluated" : `evalLoss ${formatLoss(evalLoss)}`;
  const comparison = !best || best.step === artifact.step ? "" : ` (${words})`;
  return `saved in ${place(artifact)}${comparison}; try it: ${asking}`;
}
