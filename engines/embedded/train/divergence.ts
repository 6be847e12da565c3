import { KitError } from "../../../protocol/error.ts";

/** What is advised: this share of the learning rate that failed. */
const LOWER = 0.1;
/** Small models from random weights rarely learn at more. */
const MOST_ADVISED = 0.01;

/**
 * @param when such as `at step 3`
 * @param peak the config's learning rate
 * @throws KitError `DIVERGED` when the loss or the gradient's norm is not finite
 */
export function assertFinite(
  when: string,
  { loss, gradNorm }: { loss: number; gradNorm: number },
  peak: number,
): void {
  if (Number.isFinite(loss) && Number.isFinite(gradNorm)) return;
  const what = Number.isFinite(loss) ? "gradient norm" : "loss";
  const lower = Math.min(MOST_ADVISED, Number((peak * LOWER).toPrecision(2)));
  throw new KitError(
    "DIVERGED",
    `The training diverged ${when}: the ${what} is not finite, with a learningRate of ${peak}. Try a learningRate of ${lower} or less, or more warmupSteps.`,
  );
}
