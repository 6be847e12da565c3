import { existsSync } from "node:fs";
import { basename } from "node:path";
import type { Engine, EngineModel, LoadOptions } from "../../protocol/engine.ts";
import { isKitError } from "../../protocol/error.ts";
import { assertUnquantized } from "../python/answers.ts";
import { findFolders } from "../python/model.ts";
import { type Cluster, clusterAt } from "./cluster.ts";
import { createRayJobs } from "./rayJobs.ts";
import { loadRemoteModel } from "./remoteModel.ts";
import { type StoredRecord, readStored } from "./stored.ts";

interface Loading {
  directory: string;
  /** The Python engine's, on this machine. */
  loadHere: Engine["load"];
  options: LoadOptions | undefined;
}

/** Loads a model here; on the cluster that has it, if its files or Python are missing here. */
export async function load(cluster: Cluster, loading: Loading): Promise<EngineModel> {
  const { directory, loadHere, options } = loading;
  assertUnquantized(options);
  const stored = readStored(directory);
  if (stored && !existsSync(directory)) {
    return loadThere(cluster, stored, {
      ...loading,
      why: `the files of ${basename(directory)} are only there`,
    });
  }
  try {
    return await loadHere(directory, options);
  } catch (error) {
    if (!stored || !isKitError(error) || !error.code.startsWith("PYTHON_")) throw error;
    return loadThere(cluster, stored, { ...loading, why: error.message });
  }
}

async function loadThere(
  project: Cluster,
  stored: StoredRecord,
  { directory, options, why }: Loading & { why: string },
): Promise<EngineModel> {
  const cluster = clusterAt(project, stored.address);
  const remote = createRayJobs(cluster);
  options?.onNote?.(`answers on ${remote.name}: ${why}`);
  const folders = existsSync(directory) ? await findFolders(directory, options) : undefined;
  const base = folders?.adapter === undefined ? undefined : folders.base;
  return loadRemoteModel(remote, { cluster, stored, base, ...options });
}
