import { KitError } from "../../protocol/error.ts";
import { withDigits } from "../../protocol/format.ts";
import constants from "../constants.json" with { type: "json" };

/** The suggested learning rate, as a share of the failed one. */
const LOWER = constants.loweredRate;
/** Small models from random weights rarely learn at more. */
const MOST_ADVISED = constants.maxAdvisedRate;

/**
 * @param how what happened, after "The training diverged"
 * @param peak the config's learning rate
 */
export function diverged(how: string, peak: number): KitError {
  const lower = Math.min(MOST_ADVISED, withDigits(peak * LOWER, 2));
  return new KitError(
    "DIVERGED",
    `The training diverged${how}, with a learningRate of ${peak}. Try a learningRate of ${lower} or less, or more warmupSteps.`,
  );
}
