import { basename, join } from "node:path";
import { ARTIFACTS } from "../../protocol/artifactPath.ts";
import type { FetchOptions, FollowOptions, RemoteLocation } from "../../protocol/engine.ts";
import { removePartial } from "../checkpoint/directory.ts";
import { type Cluster, clusterAt } from "./cluster.ts";
import { fetchArtifact } from "./downloadArtifact.ts";
import { monitorJob } from "./monitor.ts";
import { createRayJobs } from "./rayJobs.ts";
import type { Remote } from "./remote.ts";
import { assertSession } from "./session.ts";

/** @throws KitError `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED`, `CANNOT_FOLLOW` */
export async function reach(cluster: Cluster, location: RemoteLocation, id: string): Promise<void> {
  const remote = remoteAt(cluster, location);
  const { phase } = await remote.status(id);
  if (phase === "unknown") await assertSession(remote, location.session);
}

/** Reports the events of a job of an earlier process that it has not reported. */
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

/**
 * Brings an artifact here that a cluster keeps.
 * @param skipped names of files that are left there
 */
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
