import { KitError } from "../protocol/error.ts";
import type { AskedConfig } from "../protocol/trainConfig.ts";

/** @throws KitError `OPTION_INVALID` for options that are valid each, but not together */
export function refuseContradictions(asked: AskedConfig): void {
  if (asked.maxSteps !== undefined && asked.numTrainEpochs !== undefined) {
    throw new KitError(
      "OPTION_INVALID",
      'createTrainer: "maxSteps" and "numTrainEpochs" both say how long to train. Pass one of them.',
    );
  }
}
