import { KitError } from "../../protocol/error.ts";
import { type Weights, areFinite } from "../modelFiles/weights.ts";
import constants from "../python/kit_engine/constants.json" with { type: "json" };

/** How a step went, as numbers that must be finite. */
export interface StepOutcome {
  loss?: number;
  gradNorm?: number;
  weights?: Weights;
}

/** The suggested learning rate, as a share of the failed one. */
const LOWER = constants.loweredRate;
/** Small models from random weights rarely learn at more. */
const MOST_ADVISED = constants.mostAdvisedRate;

/**
 * @param peak the config's learning rate
 * @throws KitError `DIVERGED` when one of them is not finite
 */
export function assertFinite(
  step: number,
  { loss = 0, gradNorm = 0, weights = {} }: StepOutcome,
  peak: number,
): void {
  const what = [
    ...(Number.isFinite(loss) ? [] : ["loss is"]),
    ...(Number.isFinite(gradNorm) ? [] : ["gradient norm is"]),
    ...(Object.values(weights).every(({ data }) => areFinite(data)) ? [] : ["weights are"]),
  ][0];
  if (what === undefined) return;
  const lower = Math.min(MOST_ADVISED, Number((peak * LOWER).toPrecision(2)));
  throw new KitError(
    "DIVERGED",
    `The training diverged at step ${step}: the ${what} not finite, with a learningRate of ${peak}. Try a learningRate of ${lower} or less, or more warmupSteps.`,
  );
}
