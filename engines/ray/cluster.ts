import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { RayOptions } from "../../protocol/engineOptions.ts";
import { KitError } from "../../protocol/error.ts";
import { hasCredentials, serverUrl } from "../../protocol/url.ts";

/** Where a job runs, and on how many workers. */
export interface Cluster extends Required<Pick<RayOptions, "workers" | "maxFailures">> {
  cpusPerWorker: number;
  gpusPerWorker: number;
  storage: string | undefined;
  pip: readonly string[];
  /**
   * The dashboard's URL.
   * @throws KitError `CONFIG_INVALID` if neither an option nor an environment variable sets it
   */
  address: () => string;
  /**
   * The dashboard's token, read anew for each connection.
   * @throws KitError `CLUSTER_REFUSED`
   */
  token: () => string | undefined;
  /** Whether the address comes from a job's record, not from the project. */
  isRecorded: boolean;
}

const MAX_FAILURES = 3;
/** Ray's own variables for the address, in order of precedence. */
const VARIABLES = ["RAY_API_SERVER_ADDRESS", "RAY_ADDRESS"];

export function createCluster(options: RayOptions, env: NodeJS.ProcessEnv = process.env): Cluster {
  const { workers = 1, cpusPerWorker = 1, gpusPerWorker = 0, storage, pip = [] } = options;
  const { maxFailures = MAX_FAILURES, address, token } = options;
  return {
    workers,
    cpusPerWorker,
    gpusPerWorker,
    storage,
    pip,
    maxFailures,
    address: () => findAddress(address, env),
    token: () => findToken(token, env),
    isRecorded: false,
  };
}

/**
 * The cluster at the address in a job's record. The record may be another user's, or modified, so only the project's
 * own address gets the project's token.
 */
export function clusterAt(project: Cluster, address: string): Cluster {
  if (isProjectAddress(project, address)) return project;
  return { ...project, address: () => address, token: () => undefined, isRecorded: true };
}

/** Whether an address is the project's, in any spelling. */
export function isProjectAddress(project: Cluster, address: string): boolean {
  return (serverUrl(address) ?? address) === configuredAddress(project);
}

/** Undefined if none is configured: training reports that, and a followed job has its own address. */
export function configuredAddress({ address }: Cluster): string | undefined {
  try {
    return address();
  } catch {
    return undefined;
  }
}

/**
 * The dashboard's URL, without a trailing slash.
 * @param option of `ray()`
 * @throws KitError `CONFIG_INVALID` if nothing sets it
 */
function findAddress(option: string | undefined, env: NodeJS.ProcessEnv): string {
  const variable = VARIABLES.find((name) => env[name]?.trim());
  const address = option ?? (variable === undefined ? undefined : env[variable]?.trim());
  if (address === undefined) {
    throw new KitError(
      "CONFIG_INVALID",
      'No Ray cluster is set. Set ray({ address }) or RAY_ADDRESS to its dashboard\'s URL, such as "http://head:8265".',
    );
  }
  if (option === undefined) assertDashboardUrl(variable ?? "", address);
  return serverUrl(address) ?? address;
}

/** Holds a variable to the option's rules; Ray's own tools accept other forms, too. */
function assertDashboardUrl(variable: string, value: string): void {
  // Records and output show the address.
  if (hasCredentials(value)) {
    throw new KitError(
      "CONFIG_INVALID",
      `${variable} contains a username, password or key. Remove it, and set RAY_AUTH_TOKEN if the cluster needs a token.`,
    );
  }
  if (serverUrl(value) !== undefined) return;
  throw new KitError(
    "CONFIG_INVALID",
    `${variable} is ${value}, but ray() needs the dashboard's URL, such as http://head:8265. Set ray({ address }) or RAY_API_SERVER_ADDRESS to it.`,
  );
}

/**
 * The cluster's token, found as Ray's own tools find it; undefined if none is set.
 * @param option of `ray()`
 * @throws KitError `CLUSTER_REFUSED`
 */
function findToken(option: string | undefined, env: NodeJS.ProcessEnv): string | undefined {
  const { RAY_AUTH_TOKEN: variable, RAY_AUTH_TOKEN_PATH: tokenPath } = env;
  if (option?.trim()) return validToken(option, "ray({ token })");
  if (variable?.trim()) return validToken(variable, "RAY_AUTH_TOKEN");
  const path = tokenPath?.trim() ? tokenPath : join(homedir(), ".ray", "auth_token");
  return validToken(readToken(path, path === tokenPath), path);
}

/** Removes the line break that files and shells add. */
function validToken(token: string, source: string): string | undefined {
  const trimmed = token.trim();
  if (/^[!-~]*$/.test(trimmed)) return trimmed === "" ? undefined : trimmed;
  throw new KitError(
    "CLUSTER_REFUSED",
    `The Ray cluster token in ${source} contains a space, a line break or another character that tokens can't contain. Set it to the cluster's token.`,
  );
}

function readToken(path: string, isRequired: boolean): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    const { code = "" } = cause as NodeJS.ErrnoException;
    if (!isRequired && code === "ENOENT") return "";
    const problem = isRequired
      ? `${path} (from RAY_AUTH_TOKEN_PATH). Check the path.`
      : `${path} (${code}). Make it a file that you can read, or set RAY_AUTH_TOKEN.`;
    throw new KitError("CLUSTER_REFUSED", `Cannot read the Ray cluster's token from ${problem}`, {
      cause,
    });
  }
}
