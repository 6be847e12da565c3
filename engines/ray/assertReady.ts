import { KitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import type { Cluster } from "./cluster.ts";
import { type Http, jsonOf } from "./http.ts";

/** The oldest that Kit was tested with. */
const OLDEST = [2, 58] as const;

/** @throws KitError `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED`, `CLUSTER_UNFIT` */
export async function assertReady(http: Http, cluster: Cluster): Promise<void> {
  const address = cluster.address();
  const found = jsonOf(await http.call({ method: "GET", path: "/api/version" }));
  const version = isRecord(found) ? found["ray_version"] : undefined;
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
  const nodes = await countNodes(http);
  if (nodes > 1 && cluster.storage === undefined) {
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

async function countNodes(http: Http): Promise<number> {
  const path = "/api/v0/nodes?filter_keys=state&filter_predicates=%3D&filter_values=ALIVE";
  const { data } = recordOf(jsonOf(await http.call({ method: "GET", path })));
  const { result } = recordOf(recordOf(data)["result"]);
  return Array.isArray(result) ? result.length : 0;
}

function recordOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}
