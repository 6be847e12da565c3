import { KitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import type { Cluster } from "./cluster.ts";
import { type Http, jsonOf, unreachable } from "./http.ts";

/** The oldest that Kit was tested with. */
const OLDEST = [2, 58] as const;
const OK = 200;
const NOT_FOUND = 404;

/** @throws KitError `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED`, `CLUSTER_UNFIT` */
export async function assertReady(
  http: Http,
  cluster: Cluster,
  signal?: AbortSignal,
): Promise<void> {
  const address = cluster.address();
  const answer = await http.call({ method: "GET", path: "/api/version", signal });
  const { status } = answer;
  if (status !== OK && status !== NOT_FOUND) {
    throw new KitError(
      "CLUSTER_UNREACHABLE",
      `What answers at ${address} sent status ${status} instead of Ray's version. Try again; if it stays so, check the proxy or tunnel in between.`,
    );
  }
  const version = recordOf(jsonOf(answer))["ray_version"];
  if (typeof version !== "string") {
    throw new KitError(
      "CLUSTER_UNFIT",
      `What answers at ${address} is not Ray. Use the URL of a Ray dashboard, whose port is 8265 by default.`,
    );
  }
  if (isOlder(version)) {
    throw new KitError(
      "CLUSTER_UNFIT",
      `The cluster at ${address} runs Ray ${version}, but Kit needs ${OLDEST.join(".")} or newer. Use a newer one.`,
    );
  }
  if (cluster.storage !== undefined) return;
  const nodes = await countNodes(http, address, signal);
  if (nodes > 1) {
    throw new KitError(
      "CLUSTER_UNFIT",
      `The cluster at ${address} has ${nodes} nodes, which need one place for checkpoints. Set ray({ storage }) to a path that all of them see, or to a URL such as s3://bucket/runs.`,
    );
  }
}

function isOlder(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
}

/** Counts the nodes that are alive. */
async function countNodes(http: Http, address: string, signal?: AbortSignal): Promise<number> {
  const path = "/api/v0/nodes?filter_keys=state&filter_predicates=%3D&filter_values=ALIVE";
  const answer = await http.call({ method: "GET", path, signal });
  const { data } = recordOf(jsonOf(answer));
  const { result } = recordOf(recordOf(data)["result"]);
  if (Array.isArray(result)) return result.length;
  throw unreachable(address, new Error(`status ${answer.status} instead of a list of its nodes`));
}

function recordOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}
