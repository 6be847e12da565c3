import { join } from "node:path";
import type { LoraConfig } from "../../../protocol/trainConfig.ts";
import { configShape } from "../../families/config.ts";
import type { Dimensions } from "../../families/dimensions.ts";
import { weightShapes } from "../../families/tensorShapes.ts";
import { readConfig } from "../../modelFiles/configFile.ts";
import { planTraining } from "../step/trainingPlan.ts";

/** A single short row at a time. */
const SMALLEST = {
  limits: { tokens: 64, sequences: 1, selected: 64, longest: 64, scores: 64 * 64 },
  threads: 1,
  options: { weightDecay: 0, maxGradNorm: 1 },
};

/**
 * Refuses a model that is too large even for short rows, with LoRA even in q8_0.
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
 * Refuses a model by its config alone, assuming bfloat16.
 * @throws KitError `CHECKPOINT_INVALID` for an unsupported model, `OUT_OF_MEMORY`
 */
export function assertConfigFits(directory: string, lora: LoraConfig | undefined): void {
  const path = join(directory, "config.json");
  const shape = configShape(path, readConfig(path));
  assertFits(shape, new Set(Object.keys(weightShapes(shape))), lora);
}
