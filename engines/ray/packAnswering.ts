import type { Cluster } from "./cluster.ts";
import type { AnsweringTask, Stored } from "./messages.ts";
import { createPackage, withCode } from "./pack.ts";
import type { PackedFile } from "./remote.ts";

interface Asked {
  id: string;
  cluster: Cluster;
  stored: Stored;
  /** Folder of an adapter's base on this machine. */
  base: string | undefined;
  idleSeconds: number;
}

/**
 * All that answers from a stored checkpoint need in the cluster.
 * @throws KitError `CLUSTER_UNFIT` for a base that is more than Ray takes
 */
export function packAnswering({ id, cluster, stored, base, idleSeconds }: Asked): PackedFile[] {
  const data = createPackage(cluster);
  const model =
    base === undefined
      ? { base: stored.path }
      : { base: data.folder(base, "model"), adapter: stored.path };
  const job: AnsweringTask = { model, stored, idleSeconds };
  return withCode({ id, mode: "answer", job }, data, cluster);
}
