import { join } from "node:path";
import type { FetchOptions } from "../hub/fetchModel.ts";
import { openCache } from "../hub/hubCache.ts";
import { parseHubName } from "../hub/hubName.ts";
import { hubSettings } from "../hub/hubSettings.ts";
import { adapterOf } from "./adapterConfig.ts";
import { readConfig } from "./configFile.ts";

/**
 * Downloads the base of an adapter, if the hub has it and this disk lacks it.
 * @param path of any checkpoint
 * @throws KitError as `fetchModel`
 */
export async function fetchBase(path: string, options?: FetchOptions): Promise<void> {
  const config = readConfig(join(path, "adapter_config.json"), "optional");
  const name = parseHubName((config && adapterOf(config)?.base) ?? "");
  if (!name || openCache(hubSettings().cache, name.repo).find(name.revision)) return;
  const { fetchModel } = await import("../hub/fetchModel.ts");
  await fetchModel(name, options);
}

/** Where a base lies that is recorded by its name on the hub; any other stays as it is. */
export function baseDirectory(recorded: string): string {
  const name = parseHubName(recorded);
  if (!name) return recorded;
  return openCache(hubSettings().cache, name.repo).find(name.revision)?.directory ?? recorded;
}
