import { existsSync } from "node:fs";
import { join } from "node:path";
import { KitError } from "../../protocol/error.ts";
import type { ModelShape } from "../../protocol/trainConfig.ts";
import { type ModelSource, resolveModel } from "../llama/presets.ts";

/** Where a model's weights come from: a name is one on the Hugging Face hub. */
export type PythonModel = ModelSource | { kind: "hub"; name: string };

/** An owner and a model, but Kit itself owns none there. */
const HUB_NAME = /^(?!kit\/)[\w.-]+\/[\w.-]+$/;

/** @throws KitError as `resolveModel` */
export function findModel(model: string | ModelShape): PythonModel {
  if (typeof model === "string" && HUB_NAME.test(model)) return { kind: "hub", name: model };
  return resolveModel(model);
}

/** @throws KitError `CHECKPOINT_INVALID` for a folder without a checkpoint, before Python is started */
export function assertLoadable(directory: string): void {
  const marks = ["config.json", "adapter_config.json"];
  if (marks.some((file) => existsSync(join(directory, file)))) return;
  throw new KitError(
    "CHECKPOINT_INVALID",
    `There is no ${join(directory, "config.json")}. Name the directory of a model or a checkpoint.`,
  );
}
