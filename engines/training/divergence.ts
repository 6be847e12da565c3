import { type Weights, areFinite } from "../modelFiles/weights.ts";
import { diverged } from "./diverged.ts";

/** How a step went, as numbers that must be finite. */
export interface StepOutcome {
  loss?: number;
  gradNorm?: number;
  weights?: Weights;
}

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
  throw diverged(` at step ${step}: the ${what} not finite`, peak);
}
