import type { EngineSettings, TrainingOptions, TrainConfig } from "../../protocol/trainConfig.ts";
import { refuseUrls } from "../dataset/files.ts";
import { rowLimit } from "../dataset/rowLimit.ts";
import { resolveModel } from "../families/modelSource.ts";
import { PROJECTIONS } from "../families/projections.ts";
import { assertTargets } from "../lora/adapter.ts";
import { assertLittleEndian } from "../modelFiles/byteOrder.ts";
import { withDefaults } from "../training/defaults.ts";
import { availableSimd } from "./kernels/simd.ts";

export function prepare(options: TrainingOptions): TrainConfig {
  return prepareFor({ name: "embedded", simd: availableSimd() }, options);
}

/**
 * Checks everything except a checkpoint on disk, which is checked when training starts.
 * @param settings of an engine that reads models and rows as this one
 * @throws KitError `MODEL_UNKNOWN`, `MODEL_INVALID`, `CONFIG_INVALID`, `MACHINE_UNFIT`
 */
export function prepareFor(settings: EngineSettings, options: TrainingOptions): TrainConfig {
  assertLittleEndian();
  refuseUrls(settings.name, options);
  const config = withDefaults(options, settings, PROJECTIONS);
  const source = resolveModel(config.model);
  if (config.lora) assertTargets(config.lora.targetModules);
  if (source.kind === "untrained") rowLimit(config.maxLength, source.dimensions.context);
  return config;
}
