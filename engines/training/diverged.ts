import { KitError } from "../../protocol/error.ts";
import { withDigits } from "../../protocol/format.ts";
import constants from "../constants.json" with { type: "json" };

/** Suggested learning rate, as a fraction of the failed one. */
const SUGGESTED_FRACTION = constants.loweredRate;
/** Even small models with random weights rarely learn at higher rates. */
const MAX_SUGGESTED_RATE = constants.maxAdvisedRate;

/**
 * The error for a diverged training run.
 * @param how what happened; continues "Training diverged"
 * @param peak the config's learning rate
 */
export function diverged(how: string, peak: number): KitError {
  const lower = Math.min(MAX_SUGGESTED_RATE, withDigits(peak * SUGGESTED_FRACTION, 2));
  return new KitError(
    "DIVERGED",
    `Training diverged${how}, with a learningRate of ${peak}. Try a learningRate of ${lower} or less, or more warmupSteps.`,
  );
}
