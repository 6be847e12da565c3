import { readdirSync } from "node:fs";
import { join } from "node:path";
import { assertPicklesInside, weightFiles } from "../checkpoint/savedModel.ts";
import type { FetchOptions } from "../hub/fetchModel.ts";
import { fetchBase, findBase } from "../lora/base.ts";
import { ADAPTER_CONFIG, recordedBase } from "../lora/peftConfig.ts";
import { readConfig } from "../modelFiles/configFile.ts";
import { CONFIG_FILE, MAX_TOKENIZER_MIB, TOKENIZER_FILE, hasWeights } from "../modelFiles/names.ts";
import { assertRegularFiles } from "../modelFiles/regularFile.ts";
import { assertBoundedGrowth } from "../tokens/tokenizerLimits.ts";

export interface ModelFolders {
  base: string;
  /** Folder of the adapter. */
  adapter?: string;
}

/**
 * Finds a checkpoint's folders. Downloads an adapter's base if it is on the hub.
 * @throws KitError `CHECKPOINT_INVALID` for a folder without a checkpoint or with a hostile tokenizer, and those of
 * `fetchModel`
 */
export async function findFolders(
  directory: string,
  options?: FetchOptions,
): Promise<ModelFolders> {
  const config = readConfig(join(directory, ADAPTER_CONFIG), "optional");
  if (!config) {
    // Throws an error that names the missing file.
    readConfig(join(directory, CONFIG_FILE));
    assertReadable(directory);
    return { base: directory };
  }
  assertReadable(directory);
  await fetchBase(directory, options);
  const base = findBase(directory, String(recordedBase(config)));
  assertReadable(base);
  return { base, adapter: directory };
}

/** Refuses files on which Python would hang, or run out of memory silently. */
function assertReadable(directory: string): void {
  assertRegularFiles(directory);
  // Refuses an index with files outside the folder.
  if (hasWeights(readdirSync(directory))) weightFiles(directory);
  assertPicklesInside(directory);
  const path = join(directory, TOKENIZER_FILE);
  const tokenizer = readConfig(path, "optional", MAX_TOKENIZER_MIB);
  if (tokenizer) assertBoundedGrowth(path, tokenizer);
}
