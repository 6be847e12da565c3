import { formatCounted } from "../../protocol/format.ts";
import type { Cluster } from "./cluster.ts";

/** A node's resources by Ray's names: `CPU`, `GPU` and others. */
export type Resources = Record<string, unknown>;

/** Lets three thirds of a node add up to a whole one. */
const ROUNDING = 1e-6;

/**
 * Returns a warning if the nodes are too few or too small for all workers, since Ray then waits for more
 * nodes without saying so. Undefined if the workers would fit on idle nodes.
 */
export function capacityWarning(cluster: Cluster, nodes: readonly Resources[]): string | undefined {
  const { workers, cpusPerWorker, gpusPerWorker } = cluster;
  const wanted = Object.entries({ CPU: cpusPerWorker, GPU: gpusPerWorker }).filter(
    ([, share]) => share > 0,
  );
  const roomOf = (node: Resources) =>
    Math.min(
      ...wanted.map(([kind, share]) => Math.floor((Number(node[kind]) || 0) / share + ROUNDING)),
    );
  const room = nodes.reduce((sum, node) => sum + roomOf(node), 0);
  if (room >= workers) return undefined;
  const each = wanted.map(([kind, share]) => `${share} ${kind}${share === 1 ? "" : "s"}`);
  return `warning: the cluster has room for ${room} of ${formatCounted(workers, "worker")} (${each.join(" and ")} each): the training waits for more nodes. Cancel, and ask for less, if nobody adds any.`;
}
