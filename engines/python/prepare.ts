import type { PythonOptions } from "../../protocol/engineOptions.ts";
import { KitError } from "../../protocol/error.ts";
import { type TrainingOptions, type TrainConfig, ALL_LINEAR } from "../../protocol/trainConfig.ts";
import { refuseUrls } from "../dataset/files.ts";
import { rowLimit } from "../dataset/rowLimit.ts";
import { resolveModel } from "../families/modelSource.ts";
import { assertTargets } from "../lora/adapter.ts";
import { withDefaults } from "../training/defaults.ts";

/**
 * Checks everything that needs no Python.
 * @throws KitError `MODEL_UNKNOWN`, `MODEL_INVALID`, `CONFIG_INVALID`
 */
export function prepare(requested: TrainingOptions, options: PythonOptions): TrainConfig {
  refuseUrls("python", requested);
  return prepareWithUrls(requested, options);
}

/** Prepares a training run whose dataset may be read on another machine. */
export function prepareWithUrls(
  requested: TrainingOptions,
  { bf16, gradientCheckpointing = false }: PythonOptions,
): TrainConfig {
  refuseBaseType(requested);
  const settings = {
    name: "python",
    gradientCheckpointing,
    ...(bf16 !== undefined && { bf16 }),
  };
  const config = withDefaults(requested, settings, [ALL_LINEAR]);
  const source = resolveModel(config.model);
  if (source.kind !== "untrained") return config;
  rowLimit(config.maxLength, source.dimensions.context);
  const targets = config.lora?.targetModules ?? [ALL_LINEAR];
  if (targets[0] !== ALL_LINEAR) assertTargets(targets);
  return config;
}

/** @throws KitError `CONFIG_INVALID` */
function refuseBaseType({ lora }: TrainingOptions): void {
  if (lora?.baseType === undefined) return;
  throw new KitError(
    "CONFIG_INVALID",
    'Only the embedded engine supports "lora.baseType". Remove it, or remove engine.',
  );
}
