import { existsSync } from "node:fs";
import { join } from "node:path";
import { KitError } from "../../protocol/error.ts";
import { BASE_DIRECTORY } from "../checkpoint/adapterBase.ts";
import { readConfig } from "../checkpoint/configFile.ts";
import { type FetchOptions, fetchModel } from "../hub/fetchModel.ts";
import { parseHubName } from "../hub/hubName.ts";

/** The folders of a model. */
export interface ModelFolders {
  base: string;
  /** Of an adapter to it. */
  adapter?: string;
}

/**
 * The folders that hold a checkpoint. Downloads an adapter's base, if the hub has it.
 * @throws KitError `CHECKPOINT_INVALID` for a folder without a checkpoint, or as `fetchModel`
 */
export async function findFolders(
  directory: string,
  options?: FetchOptions,
): Promise<ModelFolders> {
  const adapter = readConfig(join(directory, "adapter_config.json"), "optional");
  if (!adapter) {
    // Says what is missing.
    readConfig(join(directory, "config.json"));
    return { base: directory };
  }
  const { base_model_name_or_path: recorded, revision } = adapter;
  const name = typeof recorded === "string" ? parseHubName(recorded) : undefined;
  if (name) {
    const asked = typeof revision === "string" ? { ...name, revision } : name;
    return { base: (await fetchModel(asked, options)).directory, adapter: directory };
  }
  const beside = join(directory, "..", BASE_DIRECTORY);
  for (const base of [String(recorded), beside]) {
    if (existsSync(join(base, "config.json"))) return { base, adapter: directory };
  }
  throw new KitError(
    "CHECKPOINT_INVALID",
    `The adapter ${directory} needs its base, but there is no model at ${String(recorded)}. Copy the base there, or to ${beside}.`,
  );
}
