import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { KitError } from "../../protocol/error.ts";
import type { RayOptions } from "../../protocol/rayOptions.ts";

/** Where a job runs, and on how many workers. */
export interface Cluster extends Required<Pick<RayOptions, "workers" | "maxFailures">> {
  cpusPerWorker: number;
  gpusPerWorker: number;
  storage: string | undefined;
  pip: readonly string[];
  /**
   * The dashboard's URL.
   * @throws KitError `CONFIG_INVALID` if neither the options nor a variable names it
   */
  address: () => string;
  /** Read anew for each connection. */
  token: () => string | undefined;
}

const MAX_FAILURES = 3;

export function createCluster(options: RayOptions, env: NodeJS.ProcessEnv = process.env): Cluster {
  const { workers = 1, cpusPerWorker = 1, gpusPerWorker = 0, storage, pip = [] } = options;
  const { maxFailures = MAX_FAILURES, address, token } = options;
  return {
    ...{ workers, cpusPerWorker, gpusPerWorker, storage, pip, maxFailures },
    address: () => (address ?? fromVariable(env)).replace(/\/+$/, ""),
    token: () => token ?? findToken(env),
  };
}

/** Ray's own tools take other forms there, too. */
function fromVariable({ RAY_API_SERVER_ADDRESS, RAY_ADDRESS }: NodeJS.ProcessEnv): string {
  const found = [RAY_API_SERVER_ADDRESS, RAY_ADDRESS].find((url) => /^https?:\/\//.test(url ?? ""));
  if (found !== undefined) return found;
  throw new KitError(
    "CONFIG_INVALID",
    'No Ray cluster is named. Set ray({ address }) or RAY_ADDRESS to its dashboard\'s URL, such as "http://head:8265".',
  );
}

function findToken({ RAY_AUTH_TOKEN, RAY_AUTH_TOKEN_PATH }: NodeJS.ProcessEnv) {
  if (RAY_AUTH_TOKEN) return RAY_AUTH_TOKEN.trim();
  const path = RAY_AUTH_TOKEN_PATH ?? join(homedir(), ".ray", "auth_token");
  try {
    return readFileSync(path, "utf8").trim() || undefined;
  } catch (cause) {
    if (RAY_AUTH_TOKEN_PATH === undefined) return undefined;
    throw new KitError(
      "CLUSTER_REFUSED",
      `Cannot read the token of the Ray cluster at ${path}, which RAY_AUTH_TOKEN_PATH names. Check the path.`,
      { cause },
    );
  }
}
