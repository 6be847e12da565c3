import { basename, join } from "node:path";
import { ARTIFACTS } from "../../protocol/artifactPath.ts";
import type { FetchOptions, FollowOptions } from "../../protocol/engine.ts";
import type { Placement } from "../../protocol/placement.ts";
import { removePartial } from "../checkpoint/directory.ts";
import { attend } from "./attend.ts";
import { type Cluster, clusterAt } from "./cluster.ts";
import { fetchArtifact } from "./fetch.ts";
import { createRayJobs } from "./rayJobs.ts";
import type { Remote } from "./remote.ts";
import { assertSession } from "./session.ts";

/** @throws KitError `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED`, `CANNOT_FOLLOW` */
export async function reach(cluster: Cluster, placement: Placement, id: string): Promise<void> {
  const remote = remoteAt(cluster, placement);
  const { phase } = await remote.status(id);
  if (phase === "unknown") await assertSession(remote, placement.session);
}

/** Reports the events of a job of an earlier process that it has not reported. */
export async function followPlaced(cluster: Cluster, options: FollowOptions): Promise<void> {
  const { directory, placement, seen } = options;
  const { session, secret } = placement;
  const id = basename(directory);
  try {
    await attend(remoteAt(cluster, placement), { id, secret, seen, session, options });
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

function remoteAt(cluster: Cluster, { address }: Pick<Placement, "address">): Remote {
  return createRayJobs(clusterAt(cluster, address));
}
