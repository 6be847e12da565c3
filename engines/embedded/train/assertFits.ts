import { join } from "node:path";
import type { LoraConfig } from "../../../protocol/trainConfig.ts";
import { configShape } from "../../families/config.ts";
import type { Dimensions } from "../../families/dimensions.ts";
import { weightShapes } from "../../families/tensorShapes.ts";
import { readConfig } from "../../modelFiles/configFile.ts";
import { planTraining } from "../step/trainingPlan.ts";

/** The smallest sizes to train with: one short row at a time, on one thread. */
const SMALLEST = {
  limits: { tokens: 64, sequences: 1, selected: 64, longest: 64, scores: 64 * 64 },
  threads: 1,
  options: { weightDecay: 0, maxGradNorm: 1 },
};

/**
 * Throws if a model is too large to train even on short rows and, with LoRA, even with a base in q8_0.
 * @throws KitError `OUT_OF_MEMORY` with the sizes
 */
export function assertFits(
  shape: Dimensions,
  bfloat16: ReadonlySet<string>,
  lora: LoraConfig | undefined,
): void {
  planTraining({ ...SMALLEST, shape, bfloat16, lora: lora && { ...lora, baseType: "q8_0" } });
}

/**
 * As `assertFits`, but knows only the config and assumes bfloat16 weights.
 * @throws KitError `CHECKPOINT_INVALID` for an unsupported model, `OUT_OF_MEMORY`
 */
export function assertConfigFits(directory: string, lora: LoraConfig | undefined): void {
  const path = join(directory, "config.json");
  const shape = configShape(path, readConfig(path));
  assertFits(shape, new Set(Object.keys(weightShapes(shape))), lora);
}
