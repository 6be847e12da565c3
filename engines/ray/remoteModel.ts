import { existsSync } from "node:fs";
import { basename } from "node:path";
import type { Engine, EngineModel, LoadOptions } from "../../protocol/engine.ts";
import { isKitError } from "../../protocol/error.ts";
import { createHostedModels } from "../answers/modelHost.ts";
import { assertUnquantized } from "../python/answers.ts";
import { findFolders } from "../python/model.ts";
import { type Cluster, clusterAt } from "./cluster.ts";
import { type HelperJob, createHelperJob } from "./helperJob.ts";
import type { AnsweringTask, StoredCheckpoint } from "./messages.ts";
import { createPackage, withCode } from "./pack.ts";
import { type Remote, createRayJobs } from "./rayJobs.ts";
import { COMMAND } from "./remoteTraining.ts";
import { createRequestChannel } from "./requestChannel.ts";
import { type StoredRecord, readStoredRecord } from "./storedRecord.ts";
import type { PackedFile } from "./zip.ts";

interface LoadRequest {
  directory: string;
  /** The Python engine's `load`, on this machine. */
  loadHere: Engine["load"];
  options: LoadOptions | undefined;
}

/** Loads a model here, or on the cluster that stores it if its files or Python are missing here. */
export async function load(cluster: Cluster, request: LoadRequest): Promise<EngineModel> {
  const { directory, loadHere, options } = request;
  assertUnquantized(options);
  const stored = readStoredRecord(directory);
  if (stored && !existsSync(directory)) {
    return loadThere(cluster, stored, {
      ...request,
      why: `the files of ${basename(directory)} exist only there`,
    });
  }
  try {
    return await loadHere(directory, options);
  } catch (error) {
    if (!stored || !isKitError(error) || !error.code.startsWith("PYTHON_")) throw error;
    return loadThere(cluster, stored, { ...request, why: error.message });
  }
}

async function loadThere(
  project: Cluster,
  stored: StoredRecord,
  { directory, options, why }: LoadRequest & { why: string },
): Promise<EngineModel> {
  const cluster = clusterAt(project, stored.address);
  const remote = createRayJobs(cluster);
  options?.onNote?.(`inference runs on ${remote.name}: ${why}`);
  const folders = existsSync(directory) ? await findFolders(directory, options) : undefined;
  const base = folders?.adapter === undefined ? undefined : folders.base;
  return loadRemoteModel(remote, { cluster, stored, base, ...options });
}

interface RemoteLoadOptions extends LoadOptions {
  cluster: Cluster;
  stored: StoredCheckpoint;
  /** Folder of an adapter's base on this machine. */
  base: string | undefined;
  idleSeconds?: number;
}

/**
 * Loads a model in a job on a cluster. The job ends when the model is closed or `signal` is aborted, and by itself once
 * this process is gone.
 * @throws KitError as the Python engine's; `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED`, `CLUSTER_UNFIT`
 */
export async function loadRemoteModel(
  remote: Remote,
  { cluster, stored, base, idleSeconds, onNote, signal }: RemoteLoadOptions,
): Promise<EngineModel> {
  const job = createHelperJob(remote, "infer", idleSeconds);
  const files = packModel(job, { cluster, stored, base });
  const channel = createRequestChannel(job, remote, onNote);
  const { load } = createHostedModels<undefined>(channel.connect);
  function stop(): Promise<void> {
    signal?.removeEventListener("abort", abort);
    return channel.close();
  }
  const abort = () => void stop();
  try {
    signal?.throwIfAborted();
    await job.submit({ files, command: COMMAND, signal });
    signal?.throwIfAborted();
    signal?.addEventListener("abort", abort, { once: true });
    const { infer, close } = await load(undefined);
    return {
      infer,
      async close() {
        await close().catch(() => {});
        await stop();
      },
    };
  } catch (error) {
    await stop();
    signal?.throwIfAborted();
    throw error;
  }
}

/**
 * Everything that inference from a stored checkpoint needs on the cluster.
 * @throws KitError `CLUSTER_UNFIT` for a base above Ray's size limit
 */
function packModel(
  { id, idleSeconds }: HelperJob,
  { cluster, stored, base }: Pick<RemoteLoadOptions, "cluster" | "stored" | "base">,
): PackedFile[] {
  const data = createPackage(cluster);
  const model =
    base === undefined
      ? { base: stored.path }
      : { base: data.folder(base, "model"), adapter: stored.path };
  const job: AnsweringTask = { model, stored, idleSeconds };
  return withCode({ id, mode: "answer", job }, data, cluster);
}
