import type { RayOptions } from "../../protocol/rayOptions.ts";
import { findAddress } from "./address.ts";
import { findToken } from "./token.ts";

/** Where a job runs, and on how many workers. */
export interface Cluster extends Required<Pick<RayOptions, "workers" | "maxFailures">> {
  cpusPerWorker: number;
  gpusPerWorker: number;
  storage: string | undefined;
  pip: readonly string[];
  /**
   * The dashboard's URL.
   * @throws KitError `CONFIG_INVALID` if neither the options nor a variable names one
   */
  address: () => string;
  /**
   * Read anew for each connection.
   * @throws KitError `CLUSTER_REFUSED`
   */
  token: () => string | undefined;
}

const MAX_FAILURES = 3;

export function createCluster(options: RayOptions, env: NodeJS.ProcessEnv = process.env): Cluster {
  const { workers = 1, cpusPerWorker = 1, gpusPerWorker = 0, storage, pip = [] } = options;
  const { maxFailures = MAX_FAILURES, address, token } = options;
  return {
    ...{ workers, cpusPerWorker, gpusPerWorker, storage, pip, maxFailures },
    address: () => findAddress(address, env),
    token: () => findToken(token, env),
  };
}
