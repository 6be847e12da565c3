import { isRecord } from "../../protocol/isRecord.ts";
import { type Answer, type Http, jsonOf, unreachable } from "./http.ts";
import type { RemoteStatus } from "./remote.ts";

type JobRecord = Record<string, unknown>;

const STATUSES: ReadonlySet<unknown> = new Set([
  "PENDING",
  "RUNNING",
  "STOPPED",
  "SUCCEEDED",
  "FAILED",
]);

/** Asks Ray about its jobs. An answer that is not Ray's counts as none, whatever its status code. */
export function createJobStatus(http: Http, address: string) {
  /** @throws KitError `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED` */
  async function find(id: string, signal?: AbortSignal): Promise<JobRecord | undefined> {
    const answer = await http.call({ method: "GET", path: `/api/jobs/${id}`, signal });
    if (saysUnknown(answer, id)) return undefined;
    const found = jsonOf(answer);
    if (answer.status === 200 && isRecord(found) && STATUSES.has(found["status"])) return found;
    // The dashboard is busy or has lost its own connection, or a proxy answered.
    throw unreachable(address, new Error(`status ${answer.status} without the job's`));
  }

  async function status(id: string, signal?: AbortSignal): Promise<RemoteStatus> {
    const found = await find(id, signal);
    if (!found) return { phase: "unknown" };
    const { status, message } = found;
    if (status === "PENDING") return { phase: "waiting", message: preparation(found) };
    if (status === "RUNNING") return { phase: "running" };
    const hasSucceeded = status === "SUCCEEDED";
    return { phase: "ended", hasSucceeded, message: String(message ?? status) };
  }

  return { find, status };
}

/** Compares Ray's own words, because a tunnel or a proxy sends 404 as well. */
export function saysUnknown({ status, body }: Answer, id: string): boolean {
  return status === 404 && body.includes(`Job ${id} does not exist`);
}

/** What Ray does before it starts a job, according to its API. */
function preparation({ runtime_env: environment }: Record<string, unknown>): string {
  const hasPip = isRecord(environment) && environment["pip"] !== undefined;
  return hasPip ? "it installs ray's pip packages for the job" : "it unpacks the job's package";
}
