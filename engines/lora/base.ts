import { join } from "node:path";
import { KitError } from "../../protocol/error.ts";
import constants from "../constants.json" with { type: "json" };
import type { FetchOptions } from "../hub/fetchModel.ts";
import { openCache } from "../hub/hubCache.ts";
import { parseHubName } from "../hub/hubName.ts";
import { hubSettings } from "../hub/hubSettings.ts";
import { type Config, readConfig } from "../modelFiles/configFile.ts";
import { TOKENIZER_CONFIG } from "../modelFiles/names.ts";
import { type SavedAdapter, ADAPTER_CONFIG, adapterOf, recordedBase } from "./peftConfig.ts";

/** The folder beside an adapter for its base, which is found there even if the project has moved. */
export const BASE_DIRECTORY = constants.baseFolder;

/** Whether a directory has an adapter. */
export function isAdapter(path: string): boolean {
  return readConfig(join(path, ADAPTER_CONFIG), "optional") !== undefined;
}

/**
 * Downloads an adapter's base from the hub, if the cache lacks it or its chat template.
 * @param path of any checkpoint
 * @throws KitErrors of `fetchModel`
 */
export async function fetchBase(path: string, options?: FetchOptions): Promise<void> {
  const config = readConfig(join(path, ADAPTER_CONFIG), "optional");
  const name = parseHubName((config && recordedBase(config)) ?? "");
  if (!name) return;
  const cache = openCache(hubSettings().cache, name);
  const found = cache.find(name.revision);
  if (found && cache.isComplete(found, [TOKENIZER_CONFIG])) return;
  const { fetchModel } = await import("../hub/fetchModel.ts");
  await fetchModel(name, options);
}

/** An adapter and its base, both on this disk. */
export interface FoundAdapter extends SavedAdapter {
  config: Config;
  /** Directory of a whole model. */
  base: string;
}

/**
 * @returns undefined for a path without an adapter
 * @throws KitError `CHECKPOINT_INVALID` for an unsupported adapter, or a missing base
 */
export function findAdapter(path: string): FoundAdapter | undefined {
  const file = join(path, ADAPTER_CONFIG);
  const config = readConfig(file, "optional");
  if (!config) return undefined;
  const adapter = adapterOf(file, config);
  return { ...adapter, config, base: findBase(path, adapter.base) };
}

/**
 * Finds the directory of an adapter's base, a whole model on this disk.
 * @param path of the adapter
 * @param recorded the base's name on the hub, or its path
 * @throws KitError `CHECKPOINT_INVALID` if there is none
 */
export function findBase(path: string, recorded: string): string {
  const beside = join(path, "..", BASE_DIRECTORY);
  const hasModel = (folder: string) => readConfig(join(folder, "config.json"), "optional");
  const recordedDirectory = baseDirectory(recorded);
  const base = !hasModel(recordedDirectory) && hasModel(beside) ? beside : recordedDirectory;
  if (hasModel(base) && !isAdapter(base)) return base;
  if (!isAdapter(base)) {
    throw new KitError(
      "CHECKPOINT_INVALID",
      `The adapter ${path} needs its base, but there is no model at ${recorded}. Copy the base there, or to ${beside}.`,
    );
  }
  throw new KitError(
    "CHECKPOINT_INVALID",
    `${path} names the adapter ${base} as its base. Use an adapter whose base is a whole model.`,
  );
}

/** The cached directory of a name on the hub; a path stays as it is. */
function baseDirectory(recorded: string): string {
  const name = parseHubName(recorded);
  if (!name) return recorded;
  return openCache(hubSettings().cache, name).find(name.revision)?.directory ?? recorded;
}
