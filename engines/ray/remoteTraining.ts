import { basename, join } from "node:path";
import { ARTIFACTS } from "../../protocol/artifactPath.ts";
import type {
  FetchOptions,
  FollowOptions,
  RemoteLocation,
  TrainOptions,
} from "../../protocol/engine.ts";
import { KitError } from "../../protocol/error.ts";
import { removePartial } from "../checkpoint/directory.ts";
import { createJob as createPythonJob } from "../python/job.ts";
import { type Cluster, clusterAt } from "./cluster.ts";
import { fetchArtifact } from "./downloadArtifact.ts";
import { assertSession } from "./follow.ts";
import { monitorJob } from "./monitor.ts";
import { pack } from "./pack.ts";
import { type Remote, createRayJobs } from "./rayJobs.ts";
import { isVisibleTo, readStoredRecord, joinStorage } from "./storedRecord.ts";

/** The command of the driver in the package. */
export const COMMAND = "python -u -m kit_ray.driver";

/** Trains on a cluster. When this settles, the job there has ended, unless it was detached or lost. */
export async function train(cluster: Cluster, options: TrainOptions): Promise<void> {
  const { directory, signal, onRemote, onNote } = options;
  signal.throwIfAborted();
  const remote = createRayJobs(cluster);
  await remote.assertReady({ signal, onNote });
  try {
    await fetchFromOtherCluster(cluster, options);
    const job = await createJob(options);
    const id = basename(directory);
    const files = pack({ id, mode: "train", job, cluster });
    const secret = crypto.randomUUID();
    const checkpoints = joinStorage(cluster.storage ?? "~/ray_results", id);
    const location = { where: remote.name, address: cluster.address(), checkpoints, secret };
    const submit = (onSent: (session?: string) => void) => {
      const onSend = (session?: string) => {
        onRemote?.({ ...location, ...(session !== undefined && { session }) });
        onSent(session);
      };
      return remote.submit({ id, secret, files, command: COMMAND, signal, onSend });
    };
    await monitorJob(remote, { id, secret, submit, options });
  } finally {
    removePartial(join(directory, ARTIFACTS));
  }
}

/** Downloads a checkpoint to resume from if another cluster stores it. */
async function fetchFromOtherCluster(
  cluster: Cluster,
  { resumeFrom: directory, signal, onNote }: TrainOptions,
): Promise<void> {
  const stored = directory === undefined ? undefined : readStoredRecord(directory);
  if (directory === undefined || !stored || isVisibleTo(cluster, stored)) return;
  await downloadFromCluster(cluster, [], { directory, signal, onNote });
}

/** Asserts that the job's cluster is there. @throws KitError `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED`, `CANNOT_FOLLOW` */
export async function reach(cluster: Cluster, location: RemoteLocation, id: string): Promise<void> {
  const remote = remoteAt(cluster, location);
  const { phase } = await remote.status(id);
  if (phase === "unknown") await assertSession(remote, location.session);
}

/** Reports the unreported events of an earlier process's job. */
export async function followRemote(cluster: Cluster, options: FollowOptions): Promise<void> {
  const { directory, location, seen } = options;
  const { session, secret } = location;
  const id = basename(directory);
  try {
    await monitorJob(remoteAt(cluster, location), { id, secret, seen, session, options });
  } finally {
    removePartial(join(directory, ARTIFACTS));
  }
}

/** Downloads an artifact from a cluster. @param skipped names of files to skip */
export async function downloadFromCluster(
  cluster: Cluster,
  skipped: readonly string[],
  options: FetchOptions,
): Promise<void> {
  await fetchArtifact((address) => remoteAt(cluster, { address }), skipped, options);
}

function remoteAt(cluster: Cluster, { address }: Pick<RemoteLocation, "address">): Remote {
  return createRayJobs(clusterAt(cluster, address));
}

/**
 * The Python engine's job. Only the workers read URLs.
 * @throws KitError as the Python engine's; `CONFIG_INVALID` for an adapter on top of an adapter, whose merged base
 * would exist only there
 */
export async function createJob(options: Parameters<typeof createPythonJob>[0]) {
  const job = await createPythonJob(options);
  const { config, model } = job;
  if (!config.lora || model.adapter === undefined) return job;
  throw new KitError(
    "CONFIG_INVALID",
    `${model.adapter} is an adapter, and ray can't train another on top of it. Use a whole model, or engine: python().`,
  );
}
