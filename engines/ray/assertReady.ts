import { isLoopback } from "../../protocol/address.ts";
import { KitError } from "../../protocol/error.ts";
import { formatCounted } from "../../protocol/format.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import type { Cluster } from "./cluster.ts";
import { type Http, createHttp, jsonOf, unreachable } from "./http.ts";

/** Oldest tested version. */
const MIN_VERSION: readonly [major: number, minor: number] = [2, 58];
/** Ray's version format, kept short because errors print it. */
const VERSION = /^\d{1,4}\.\d{1,4}[\w.+-]{0,40}$/;
const OK = 200;
const NOT_FOUND = 404;

export interface ReadyOptions {
  signal?: AbortSignal | undefined;
  /** Receives warnings: of a cluster without a token, or of workers that don't fit on its nodes. */
  onNote?: ((text: string) => void) | undefined;
}

/** @throws KitError `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED`, `CLUSTER_UNFIT` */
export async function assertReady(
  http: Http,
  cluster: Cluster,
  { signal, onNote }: ReadyOptions = {},
): Promise<void> {
  const address = cluster.address();
  const { status, version } = await readVersion(http, signal);
  if (status !== OK && status !== NOT_FOUND) {
    throw new KitError(
      "CLUSTER_UNREACHABLE",
      `The server at ${address} sent status ${status} instead of Ray's version. Try again; if it persists, check the proxy or tunnel in between.`,
    );
  }
  if (version === undefined) {
    throw new KitError(
      "CLUSTER_UNFIT",
      `The server at ${address} is not Ray. Use the URL of a Ray dashboard, whose port is 8265 by default.`,
    );
  }
  if (isOlder(version, MIN_VERSION)) {
    throw new KitError(
      "CLUSTER_UNFIT",
      `The cluster at ${address} runs Ray ${version}, but Kit needs ${MIN_VERSION.join(".")} or newer. Use a newer one.`,
    );
  }
  const openWarning = await openClusterWarning(address, signal);
  if (openWarning !== undefined) onNote?.(openWarning);
  const nodes = await readNodes(http, signal);
  if (cluster.storage === undefined) assertSingleNode(nodes, address);
  if (typeof nodes === "number") return;
  const shortage = capacityWarning(cluster, nodes.map(resourcesOf));
  if (shortage !== undefined) onNote?.(shortage);
}

/** @param nodes the cluster's nodes, or, if the server didn't send a list, the response's status code */
function assertSingleNode(nodes: unknown[] | number, address: string): void {
  if (typeof nodes === "number") {
    throw unreachable(address, new Error(`status ${nodes} instead of a list of its nodes`));
  }
  if (nodes.length > 1) {
    throw new KitError(
      "CLUSTER_UNFIT",
      `Workers need shared checkpoint storage: the cluster at ${address} has ${nodes.length} nodes. Set ray({ storage }) to a path that all of them can read and write, or to a URL such as s3://bucket/runs.`,
    );
  }
}

/** Returns the nodes that are alive, or, if the server didn't send a list, the response's status code. */
async function readNodes(http: Http, signal?: AbortSignal): Promise<unknown[] | number> {
  const path = "/api/v0/nodes?filter_keys=state&filter_predicates=%3D&filter_values=ALIVE";
  const response = await http.call({ method: "GET", path, signal });
  const { data } = recordOf(jsonOf(response));
  const { result } = recordOf(recordOf(data)["result"]);
  return Array.isArray(result) ? (result as unknown[]) : response.status;
}

function resourcesOf(node: unknown): Resources {
  return recordOf(recordOf(node)["resources_total"]);
}

function recordOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

/** A node's resources by Ray's names: `CPU`, `GPU` and others. */
export type Resources = Record<string, unknown>;

/** Tolerates rounding, so that three thirds of a node fit on it. */
const ROUNDING = 1e-6;

/** Returns a warning if the workers don't fit even on idle nodes, since Ray then waits silently for more nodes. */
export function capacityWarning(cluster: Cluster, nodes: readonly Resources[]): string | undefined {
  const { workers, cpusPerWorker, gpusPerWorker } = cluster;
  const requested = Object.entries({ CPU: cpusPerWorker, GPU: gpusPerWorker }).filter(
    ([, share]) => share > 0,
  );
  const workersOn = (node: Resources) =>
    Math.min(
      ...requested.map(([kind, share]) => Math.floor((Number(node[kind]) || 0) / share + ROUNDING)),
    );
  const room = nodes.reduce((sum, node) => sum + workersOn(node), 0);
  if (room >= workers) return undefined;
  const each = requested.map(([kind, share]) => `${share} ${kind}${share === 1 ? "" : "s"}`);
  return `warning: the cluster has room for ${room} of ${formatCounted(workers, "worker")} (${each.join(" and ")} each), so the training waits for more nodes. If none will be added, cancel and request fewer resources.`;
}

/**
 * Returns a warning if a cluster that others can reach needs no token. Says nothing about a loopback address, which may be
 * a tunnel's end.
 */
export async function openClusterWarning(
  address: string,
  signal?: AbortSignal,
): Promise<string | undefined> {
  if (isLoopback(new URL(address).hostname.replace(/^\[|\]$/g, ""))) return undefined;
  if (!(await respondsAsRay(createHttp(address, undefined), signal))) return undefined;
  return `warning: the Ray cluster at ${address} needs no token, so anyone who can reach it can run code there, and so can web pages through a browser (CVE-2025-62593, CVE-2026-27482). Start Ray with RAY_AUTH_MODE=token, or make its dashboard reachable only through a tunnel.`;
}

async function respondsAsRay(http: Http, signal?: AbortSignal): Promise<boolean> {
  try {
    return (await readVersion(http, signal)).version !== undefined;
  } catch {
    // It needs a token, or the signal was aborted.
    signal?.throwIfAborted();
    return false;
  }
}

/**
 * Reads Ray's version, undefined if the server isn't Ray, and session, which changes when the head node restarts.
 * @throws KitError `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED`
 */
export async function readVersion(http: Http, signal?: AbortSignal) {
  const response = await http.call({ method: "GET", path: "/api/version", signal });
  const found = jsonOf(response);
  const { ray_version: version, session_name: session } = isRecord(found) ? found : {};
  const isVersion = typeof version === "string" && VERSION.test(version);
  return {
    status: response.status,
    version: isVersion ? version : undefined,
    session: typeof session === "string" ? session : undefined,
  };
}

function isOlder(version: string, [major, minor]: typeof MIN_VERSION): boolean {
  const [foundMajor = 0, foundMinor = 0] = version
    .split(".")
    .map((part) => Number.parseInt(part, 10));
  return foundMajor < major || (foundMajor === major && foundMinor < minor);
}
