import { isLoopback } from "../../protocol/address.ts";
import { KitError } from "../../protocol/error.ts";
import { formatCounted } from "../../protocol/format.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import type { Cluster } from "./cluster.ts";
import { type Http, createHttp, jsonOf, unreachable } from "./http.ts";

/** The oldest that Kit was tested with. */
const OLDEST: readonly [major: number, minor: number] = [2, 58];
/** As Ray writes versions, and short: errors print it. */
const VERSION = /^\d{1,4}\.\d{1,4}[\w.+-]{0,40}$/;
const OK = 200;
const NOT_FOUND = 404;

export interface ReadyOptions {
  signal?: AbortSignal | undefined;
  /** Takes warnings: if anyone can use the cluster, or the workers don't fit on the nodes that are there. */
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
      `What answers at ${address} sent status ${status} instead of Ray's version. Try again; if it stays so, check the proxy or tunnel in between.`,
    );
  }
  if (version === undefined) {
    throw new KitError(
      "CLUSTER_UNFIT",
      `What answers at ${address} is not Ray. Use the URL of a Ray dashboard, whose port is 8265 by default.`,
    );
  }
  if (isOlder(version, OLDEST)) {
    throw new KitError(
      "CLUSTER_UNFIT",
      `The cluster at ${address} runs Ray ${version}, but Kit needs ${OLDEST.join(".")} or newer. Use a newer one.`,
    );
  }
  const open = await openClusterWarning(address, signal);
  if (open !== undefined) onNote?.(open);
  const nodes = await readNodes(http, signal);
  if (cluster.storage === undefined) assertOne(nodes, address);
  const lack = Array.isArray(nodes) ? capacityWarning(cluster, nodes.map(resourcesOf)) : undefined;
  if (lack !== undefined) onNote?.(lack);
}

/** @param nodes the cluster's nodes, or the status code that came instead */
function assertOne(nodes: unknown[] | number, address: string): void {
  if (typeof nodes === "number") {
    throw unreachable(address, new Error(`status ${nodes} instead of a list of its nodes`));
  }
  if (nodes.length > 1) {
    throw new KitError(
      "CLUSTER_UNFIT",
      `Workers need shared checkpoint storage: the cluster at ${address} has ${nodes.length} nodes. Set ray({ storage }) to a path that all of them see, or to a URL such as s3://bucket/runs.`,
    );
  }
}

/** Returns the nodes that are alive, or the status code that came instead. */
async function readNodes(http: Http, signal?: AbortSignal): Promise<unknown[] | number> {
  const path = "/api/v0/nodes?filter_keys=state&filter_predicates=%3D&filter_values=ALIVE";
  const answer = await http.call({ method: "GET", path, signal });
  const { data } = recordOf(jsonOf(answer));
  const { result } = recordOf(recordOf(data)["result"]);
  return Array.isArray(result) ? (result as unknown[]) : answer.status;
}

function resourcesOf(node: unknown): Resources {
  return recordOf(recordOf(node)["resources_total"]);
}

function recordOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

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

/**
 * Returns a warning if a cluster answers without a token at an address that others reach, too. An
 * address of this machine alone may be a tunnel's end: Kit can't see what is behind it.
 */
export async function openClusterWarning(
  address: string,
  signal?: AbortSignal,
): Promise<string | undefined> {
  if (isLoopback(new URL(address).hostname.replace(/^\[|\]$/g, ""))) return undefined;
  if (!(await answers(createHttp(address, undefined), signal))) return undefined;
  return `warning: the Ray cluster at ${address} answers without a token, so whoever reaches it can run code there, and web pages have reached such clusters through a browser (CVE-2025-62593, CVE-2026-27482). Start Ray with RAY_AUTH_MODE=token, or let nothing but a tunnel reach its dashboard.`;
}

async function answers(http: Http, signal?: AbortSignal): Promise<boolean> {
  try {
    return (await readVersion(http, signal)).version !== undefined;
  } catch {
    // It asks for a token, or the signal was aborted.
    signal?.throwIfAborted();
    return false;
  }
}

/**
 * Asks what answers for the version of Ray, undefined if it is not Ray, and for Ray's name of this start of
 * its head node, undefined if it has none.
 * @throws KitError `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED`
 */
export async function readVersion(http: Http, signal?: AbortSignal) {
  const answer = await http.call({ method: "GET", path: "/api/version", signal });
  const found = jsonOf(answer);
  const { ray_version: version, session_name: session } = isRecord(found) ? found : {};
  const isVersion = typeof version === "string" && VERSION.test(version);
  return {
    status: answer.status,
    version: isVersion ? version : undefined,
    session: typeof session === "string" ? session : undefined,
  };
}

function isOlder(version: string, [major, minor]: typeof OLDEST): boolean {
  const [ownMajor = 0, ownMinor = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  return ownMajor < major || (ownMajor === major && ownMinor < minor);
}
