import { KitError } from "../../protocol/error.ts";
import { withDigits } from "../../protocol/format.ts";
import constants from "../constants.json" with { type: "json" };

/** Suggested learning rate, as a fraction of the failed one. */
const LOWER = constants.loweredRate;
/** Small models from random weights rarely learn at higher rates. */
const MAX_SUGGESTED_RATE = constants.maxAdvisedRate;

/**
 * @param how what happened, after "The training diverged"
 * @param peak the config's learning rate
 */
export function diverged(how: string, peak: number): KitError {
  const lower = Math.min(MAX_SUGGESTED_RATE, withDigits(peak * LOWER, 2));
  return new KitError(
    "DIVERGED",
    `The training diverged${how}, with a learningRate of ${peak}. Try a learningRate of ${lower} or less, or more warmupSteps.`,
  );
}
