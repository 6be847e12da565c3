import { join } from "node:path";
import { fetchBase, findBase } from "../checkpoint/adapterBase.ts";
import { ADAPTER_CONFIG, recordedBase } from "../checkpoint/adapterConfig.ts";
import { readConfig } from "../checkpoint/configFile.ts";
import type { FetchOptions } from "../hub/fetchModel.ts";
import { CONFIG_FILE } from "../hub/modelFiles.ts";

/** The folders of a model. */
export interface ModelFolders {
  base: string;
  /** Folder of an adapter to it. */
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
  const config = readConfig(join(directory, ADAPTER_CONFIG), "optional");
  if (!config) {
    // Says what is missing.
    readConfig(join(directory, CONFIG_FILE));
    return { base: directory };
  }
  await fetchBase(directory, options);
  return { base: findBase(directory, String(recordedBase(config))), adapter: directory };
}
