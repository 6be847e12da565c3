import { KitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { type Resources, capacityWarning } from "./capacity.ts";
import type { Cluster } from "./cluster.ts";
import { type Http, jsonOf, unreachable } from "./http.ts";
import { type Release, isOlder, readVersion } from "./version.ts";
import { openClusterWarning, vulnerabilitiesOf } from "./vulnerabilities.ts";

/** The oldest that Kit was tested with. */
const OLDEST: Release = [2, 58];
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
      `The cluster at ${address} runs Ray ${version}, but Kit needs ${OLDEST.join(".")} or newer. Use a newer one${vulnerabilitiesOf(version)}.`,
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
