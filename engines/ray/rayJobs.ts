import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { KitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { assertReady } from "./assertReady.ts";
import type { Cluster } from "./cluster.ts";
import { type Answer, type Http, createHttp, jsonOf, unreachable } from "./http.ts";
import { preparation } from "./notes.ts";
import type { Remote, RemoteStatus, Submission } from "./remote.ts";
import { zip } from "./zip.ts";

/** A log without a byte for so long is read anew; the driver's beat comes every 5 seconds. */
const SILENCE_MS = 20_000;
const POLL_MS = 250;
/** How long to retry a submit that got no answer, or that the cluster was not ready for. */
const SUBMIT_MS = 60_000;
const BUSY_MS = 2_000;
/** How long a stopped job may take to end. Ray kills it after a few seconds. */
const STOP_MS = 20_000;
const NOT_FOUND = 404;

/** What every process of a job has in its environment. */
const VARIABLES = {
  RAY_TRAIN_V2_ENABLED: "1",
  // The package is the workers' folder, as the driver's.
  RAY_CHDIR_TO_TRIAL_DIR: "0",
  HF_HUB_OFFLINE: "1",
  TOKENIZERS_PARALLELISM: "false",
  PYTHONUNBUFFERED: "1",
};

/** Ray's Jobs API, of the dashboard of a cluster. */
export function createRayJobs(cluster: Cluster): Remote {
  const address = cluster.address();
  const http = createHttp(address, cluster.token());

  async function submit({ id, files, command, signal, onSend }: Submission): Promise<void> {
    const uri = await upload(http, zip(files), signal);
    const body = {
      submission_id: id,
      entrypoint: command,
      runtime_env: {
        ...{ working_dir: uri, env_vars: VARIABLES },
        ...(cluster.pip.length > 0 && { pip: cluster.pip }),
      },
      metadata: { kit: id },
    };
    onSend?.();
    const job = { method: "POST", path: "/api/jobs/", body, signal } as const;
    for (const deadline = Date.now() + SUBMIT_MS; ;) {
      const answer = await http.call(job).catch(isLost);
      // A lost answer, or the refusal of a second job with this id: the first is the one.
      if (answer?.status === 200 || (await find(id).catch(isLost))) return;
      const isBusy = !answer || answer.body.includes("try again");
      if (!isBusy || Date.now() > deadline) throw notSubmitted(address, answer);
      await delay(BUSY_MS, undefined, { signal });
    }
  }

  async function find(
    id: string,
    signal?: AbortSignal,
  ): Promise<Record<string, unknown> | undefined> {
    const answer = await http.call({ method: "GET", path: `/api/jobs/${id}`, signal });
    if (answer.status === NOT_FOUND) return undefined;
    const found = jsonOf(answer);
    if (answer.status === 200 && isRecord(found)) return found;
    // A dashboard that is busy, or that lost its own connection.
    throw unreachable(address, new Error(`status ${answer.status}`));
  }

  async function status(id: string, signal?: AbortSignal): Promise<RemoteStatus> {
    const found = await find(id, signal);
    if (!found) return { phase: "unknown" };
    const { status, message } = found;
    if (status === "PENDING") return { phase: "waiting", message: preparation(found) };
    if (status === "RUNNING") return { phase: "running" };
    return { phase: "ended", message: String(message ?? status) };
  }

  async function* log(id: string, isEnded: boolean, signal: AbortSignal) {
    const node = (await find(id))?.["driver_node_id"];
    if (typeof node !== "string") return;
    const asked = `node_id=${node}&submission_id=${id}&lines=-1`;
    const path = isEnded ? `file?${asked}` : `stream?${asked}&interval=${POLL_MS / 1000}`;
    yield* bytesOf(`/api/v0/logs/${path}`, signal);
  }

  async function* bytesOf(path: string, signal: AbortSignal): AsyncGenerator<Buffer> {
    const answer = await http.open({ method: "GET", path, signal, silenceMs: SILENCE_MS });
    try {
      if (answer.statusCode !== 200) throw new Error(`status ${answer.statusCode}`);
      yield* answer as AsyncIterable<Buffer>;
    } catch (cause) {
      signal.throwIfAborted();
      throw unreachable(address, cause);
    } finally {
      answer.destroy();
    }
  }

  async function stop(id: string): Promise<void> {
    const signal = AbortSignal.timeout(STOP_MS);
    try {
      const path = `/api/jobs/${id}/stop`;
      const answer = await http.call({ method: "POST", path, body: {}, signal });
      if (answer.status === NOT_FOUND) return;
      if (answer.status !== 200) throw unreachable(address, new Error(`status ${answer.status}`));
      for (;;) {
        const { phase } = await status(id, signal);
        if (phase === "ended" || phase === "unknown") return;
        await delay(POLL_MS, undefined, { signal });
      }
    } catch (cause) {
      if (signal.aborted) throw unreachable(address, new Error("it stops no job"));
      throw cause;
    }
  }

  async function send(id: string, name: string, bytes: Buffer): Promise<void> {
    // What the key-value store of the cluster has, the job can read: kit_ray/mailbox.py.
    const path = `/api/packages/gcs/${id}-${name}.zip`;
    const sent = await http.call({ method: "PUT", path, body: bytes });
    if (sent.status !== 200) throw notSent(sent);
  }

  return {
    name: `the Ray cluster at ${address}`,
    address,
    assertReady: (options) => assertReady(http, cluster, options),
    ...{ submit, status, log, stop, send },
    read: ({ node, path }, signal) =>
      bytesOf(
        `/api/v0/logs/file?node_id=${node}&filename=${encodeURIComponent(path)}&lines=-1`,
        signal,
      ),
  };
}

function isLost(error: unknown): undefined {
  if (error instanceof KitError && error.code === "CLUSTER_UNREACHABLE") return undefined;
  throw error;
}

/** @returns its URI, by its content, so that the same package is sent once */
async function upload(http: Http, archive: Buffer, signal?: AbortSignal): Promise<string> {
  const digest = createHash("sha256").update(archive).digest("hex");
  const name = `_ray_pkg_${digest}.zip`;
  const path = `/api/packages/gcs/${name}`;
  const { status } = await http.call({ method: "GET", path, signal });
  if (status !== 200) {
    const sent = await http.call({ method: "PUT", path, body: archive, signal });
    if (sent.status !== 200) throw notSent(sent);
  }
  return `gcs://${name}`;
}

function notSent(answer: Answer): KitError {
  return new KitError(
    "CLUSTER_UNFIT",
    `The Ray cluster does not take the package: ${lastLine(answer)}. See the log of its dashboard.`,
  );
}

/** Without an answer, the job may be there. */
function notSubmitted(address: string, answer: Answer | undefined): KitError {
  if (!answer) return unreachable(address, new Error("no answer to a new job"));
  return new KitError(
    "CLUSTER_UNFIT",
    `The Ray cluster at ${address} does not take the job: ${lastLine(answer)}. See the log of its dashboard.`,
  );
}

/** Of a Python traceback, the error; of a proxy's page, the status. */
function lastLine({ status, body }: Answer): string {
  const text = body.toString().trim();
  const line = text.split("\n").at(-1)?.trim() ?? "";
  return line === "" || text.startsWith("<") ? `status ${status}` : line.replace(/\.$/, "");
}
