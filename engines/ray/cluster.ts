import type { RayOptions } from "../../protocol/engineOptions.ts";
import { serverUrl } from "../../protocol/url.ts";
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
  /** Whether only a job's record names the address. */
  isRecorded: boolean;
}

const MAX_FAILURES = 3;

export function createCluster(options: RayOptions, env: NodeJS.ProcessEnv = process.env): Cluster {
  const { workers = 1, cpusPerWorker = 1, gpusPerWorker = 0, storage, pip = [] } = options;
  const { maxFailures = MAX_FAILURES, address, token } = options;
  return {
    ...{ workers, cpusPerWorker, gpusPerWorker, storage, pip, maxFailures },
    address: () => findAddress(address, env),
    token: () => findToken(token, env),
    isRecorded: false,
  };
}

/**
 * The cluster at an address that a job's record names. A record may be another's, or changed: the
 * project's token goes to the project's address alone.
 */
export function clusterAt(project: Cluster, address: string): Cluster {
  if (isNamed(project, address)) return project;
  return { ...project, address: () => address, token: () => undefined, isRecorded: true };
}

/** Whether an address is the project's, in whatever form. */
export function isNamed(project: Cluster, address: string): boolean {
  return (serverUrl(address) ?? address) === namedAddress(project);
}

/** Undefined where none is named: a training says so, and a job that is followed has its own. */
export function namedAddress({ address }: Cluster): string | undefined {
  try {
    return address();
  } catch {
    return undefined;
  }
}
