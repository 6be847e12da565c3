import type { PythonOptions } from "../../protocol/pythonOptions.ts";
import type { AskedConfig, TrainConfig } from "../../protocol/trainConfig.ts";
import { rowLimit } from "../dataset/rowLimit.ts";
import { withDefaults } from "../defaults.ts";
import { TARGET_MODULES, assertTargets } from "../llama/adapter.ts";
import { resolveModel } from "../llama/presets.ts";

/**
 * Checks everything but what only Python knows. Looks for no Python.
 * @throws KitError `MODEL_UNKNOWN`, `MODEL_INVALID`, `CONFIG_INVALID`
 */
export function prepare(
  asked: AskedConfig,
  { bf16, gradientCheckpointing = false }: PythonOptions,
): TrainConfig {
  const settings = {
    name: "python",
    gradientCheckpointing,
    ...(bf16 !== undefined && { bf16 }),
  };
  const config = withDefaults(asked, settings, TARGET_MODULES);
  const source = resolveModel(config.model);
  if (source.kind !== "shape") return config;
  rowLimit(config.maxLength, source.shape.context);
  if (config.lora) assertTargets(config.lora.targetModules);
  return config;
}
