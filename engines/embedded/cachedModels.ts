import { existsSync } from "node:fs";
import { join } from "node:path";
import type { CachedModel } from "../../protocol/engine.ts";
import { messageOf } from "../../protocol/error.ts";
import { openCheckpoint } from "../checkpoint/checkpoint.ts";
import { PROJECTIONS } from "../families/projections.ts";
import { weightCounts } from "../families/tensorShapes.ts";
import { parseHubName } from "../hub/hubName.ts";
import { hubSettings } from "../hub/hubSettings.ts";
import { type Snapshot, listSnapshots } from "../hub/snapshots.ts";
import { readConfig } from "../modelFiles/configFile.ts";
import { CONFIG_FILE, hasAllFiles } from "../modelFiles/names.ts";
import { bfloat16Of } from "../modelFiles/tensors.ts";
import { assertConfigFits, assertFits } from "./train/assertFits.ts";

/** A typical adapter, to check that a model can be trained in this machine's memory. */
const ADAPTER = { r: 16, alpha: 32, targetModules: [...PROJECTIONS] };

/** The cached models in alphabetical order. Reads no weights. */
export function cachedModels(): { cache: string; models: CachedModel[] } {
  const { cache } = hubSettings();
  return { cache, models: listSnapshots(cache).map(describe) };
}

function describe(snapshot: Snapshot): CachedModel {
  const { name, bytes, directory } = snapshot;
  const about = { name, bytes, architecture: architectureOf(directory) };
  try {
    if (existsSync(join(directory, CONFIG_FILE))) assertConfigFits(directory, ADAPTER);
    assertDownloaded(snapshot);
    const { shape, weights } = openCheckpoint(directory);
    assertFits(shape, bfloat16Of(weights), ADAPTER);
    return { ...about, parameters: weightCounts(shape).numbers, problem: undefined };
  } catch (error) {
    return { ...about, parameters: undefined, problem: messageOf(error) };
  }
}

function assertDownloaded({ name, directory }: Snapshot): void {
  if (!parseHubName(name))
    throw new Error("Cached without its owner's name. Use org/name to download it again.");
  if (hasAllFiles(directory)) return;
  throw new Error("The download is incomplete. Name the model in a trainer to fetch the rest.");
}

function architectureOf(directory: string): string | undefined {
  try {
    const { architectures } = readConfig(join(directory, CONFIG_FILE));
    return Array.isArray(architectures) ? String(architectures[0]) : undefined;
  } catch {
    // `describe` reports the problem.
    return undefined;
  }
}
