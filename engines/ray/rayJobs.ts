import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { KitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import constants from "../constants.json" with { type: "json" };
import { type ReadyOptions, assertReady, readVersion } from "./assertReady.ts";
import type { Cluster } from "./cluster.ts";
import { type Answer, type Http, createHttp, jsonOf, unreachable } from "./http.ts";
import { type PackedFile, zip } from "./zip.ts";

/** A log without a byte for so long is read anew; the driver's beat comes every 5 seconds. */
const SILENCE_MS = 20_000;
const POLL_MS = 250;
/** How long to retry a submit that got no answer, or that the cluster was not ready for. */
const SUBMIT_MS = 60_000;
const BUSY_MS = 2_000;
/** How long a stopped job may take to end, or a submitted one to arrive. Ray kills a job after a few seconds. */
const STOP_MS = 20_000;
/** Status codes of a gateway that could not reach the dashboard or lost its answer. */
const LOST: readonly number[] = [502, 503, 504];

type JobRecord = Record<string, unknown>;
const STATUSES: ReadonlySet<unknown> = new Set([
  "PENDING",
  "RUNNING",
  "STOPPED",
  "SUCCEEDED",
  "FAILED",
]);

/** Environment of every process of a job. */
const VARIABLES = {
  RAY_TRAIN_V2_ENABLED: "1",
  // The package is the workers' folder, as the driver's.
  RAY_CHDIR_TO_TRIAL_DIR: "0",
  HF_HUB_OFFLINE: "1",
  TOKENIZERS_PARALLELISM: "false",
  PYTHONUNBUFFERED: "1",
};

/** A cluster that runs programs and keeps what they print. */
export type Remote = ReturnType<typeof createRayJobs>;

export interface Submission {
  id: string;
  /** The job gets it in `KIT_JOB_SECRET`, and marks its messages by it. */
  secret: string;
  /** What the job finds in its working directory. */
  files: readonly PackedFile[];
  command: string;
  /** Aborting ends the attempt: at once, or soon after the job was sent, which may then be there. */
  signal?: AbortSignal | undefined;
  /** Called once the files are there, just before the job starts, with the cluster's session. */
  onSend?: (session: string | undefined) => void;
}

export interface RemoteStatus {
  /** `unknown`: it was never submitted, or the cluster has forgotten it. */
  phase: "waiting" | "running" | "ended" | "unknown";
  /** Whether a job that has ended ran to the end of its program. */
  hasSucceeded?: boolean;
  /** What the job waits for, or why it ended, if the cluster knows. */
  message?: string;
}

/** Ray's Jobs API, of the dashboard of a cluster. An answer that is not Ray's counts as none. */
export function createRayJobs(cluster: Cluster) {
  const address = cluster.address();
  const http = createHttp(address, cluster.token(), cluster.isRecorded);
  /** Ids of jobs that were sent but may not have arrived yet. */
  const unanswered = new Set<string>();

  /** Starts a job, or finds the one with its id that an earlier call has started. */
  async function submit({ id, secret, files, command, signal, onSend }: Submission): Promise<void> {
    const uri = await upload(http, zip(files), signal);
    const body = {
      submission_id: id,
      entrypoint: command,
      runtime_env: {
        working_dir: uri,
        env_vars: { ...VARIABLES, [constants.secretVariable]: secret },
        ...(cluster.pip.length > 0 && { pip: cluster.pip }),
      },
      metadata: { kit: id },
    };
    const session = onSend && (await readVersion(http, signal)).session;
    signal?.throwIfAborted();
    onSend?.(session);
    // The request may arrive even if we stop waiting for the answer.
    const late = laterThan(signal, STOP_MS);
    const job = { method: "POST", path: "/api/jobs/", body, signal: late } as const;
    unanswered.add(id);
    for (const deadline = performance.now() + SUBMIT_MS; ;) {
      const answer = await http.call(job).then(unlessLost, isLost);
      if (answer) unanswered.delete(id);
      // A lost answer, or the refusal of a second job with this id: the first is the one.
      if (answer?.status === 200 || (await find(id, late).catch(isLost))) return;
      const isBusy = !answer || answer.body.includes("try again");
      if (!isBusy || performance.now() > deadline) throw notSubmitted(address, answer);
      await delay(BUSY_MS, undefined, { signal });
    }
  }

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

  /**
   * What the job prints, as long as the connection lasts.
   * @param asked.isEnded whether it prints no more; else new output is waited for
   * @param asked.lines the last ones that are there, and what comes. Default: from the first byte
   */
  async function* log(
    id: string,
    { isEnded, lines = -1 }: { isEnded: boolean; lines?: number | undefined },
    signal: AbortSignal,
  ): AsyncIterable<Buffer> {
    const node = (await find(id, signal))?.["driver_node_id"];
    if (typeof node !== "string") return;
    const asked = `node_id=${node}&submission_id=${id}&lines=${lines}`;
    const path = isEnded ? `file?${asked}` : `stream?${asked}&interval=${POLL_MS / 1000}`;
    yield* bytesOf(`/api/v0/logs/${path}`, signal);
  }

  async function* bytesOf(path: string, signal: AbortSignal): AsyncIterable<Buffer> {
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

  /**
   * Stops a job, and resolves once it has ended; does nothing for an ended one.
   * @throws KitError `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED` when it may go on, within half a minute
   */
  async function stop(id: string): Promise<void> {
    const signal = AbortSignal.timeout(STOP_MS);
    try {
      let answer = await askToStop(id, signal);
      if (saysUnknown(answer, id) && unanswered.delete(id)) {
        await delay(BUSY_MS, undefined, { signal });
        answer = await askToStop(id, signal);
      }
      if (saysUnknown(answer, id)) return;
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

  function askToStop(id: string, signal: AbortSignal): Promise<Answer> {
    return http.call({ method: "POST", path: `/api/jobs/${id}/stop`, body: {}, signal });
  }

  /**
   * Hands bytes to a job that runs.
   * @param name of this message alone
   */
  async function send(id: string, name: string, bytes: Buffer): Promise<void> {
    // What the key-value store of the cluster has, the job can read: kit_ray/mailbox.py.
    const path = `/api/packages/gcs/${id}-${name}.zip`;
    const sent = await http.call({ method: "PUT", path, body: bytes });
    if (sent.status !== 200) throw notSent(sent);
  }

  return {
    /** As errors name it. */
    name: `the Ray cluster at ${address}`,
    address,
    /**
     * Asks whether jobs can run there, before anything is read or sent.
     * @throws KitError `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED`, `CLUSTER_UNFIT`
     */
    assertReady: (options?: ReadyOptions) => assertReady(http, cluster, options),
    submit,
    status,
    log,
    stop,
    send,
    /** Its own name since its last start; undefined if it has none. */
    session: async (signal?: AbortSignal) => (await readVersion(http, signal)).session,
    /**
     * A file that a job has staged for this machine.
     * @throws KitError `CLUSTER_UNREACHABLE` when the connection is cut
     */
    read: ({ node, path }: { node: string; path: string }, signal: AbortSignal) =>
      bytesOf(
        `/api/v0/logs/file?node_id=${node}&filename=${encodeURIComponent(path)}&lines=-1`,
        signal,
      ),
  };
}

function unlessLost(answer: Answer): Answer | undefined {
  return LOST.includes(answer.status) ? undefined : answer;
}

/** A signal that aborts some time after another one. */
function laterThan(signal: AbortSignal | undefined, ms: number): AbortSignal {
  const late = new AbortController();
  const abort = () => setTimeout(() => late.abort(signal?.reason), ms).unref();
  signal?.addEventListener("abort", abort, { once: true });
  return late.signal;
}

function isLost(error: unknown): undefined {
  if (error instanceof KitError && error.code === "CLUSTER_UNREACHABLE") return undefined;
  throw error;
}

/** Without an answer, the job may be there. */
function notSubmitted(address: string, answer: Answer | undefined): KitError {
  if (!answer) return unreachable(address, new Error("no answer to a new job"));
  return new KitError(
    "CLUSTER_UNFIT",
    `The Ray cluster at ${address} does not take the job: ${lastLine(answer)}. See the log of its dashboard.`,
  );
}

/** Compares Ray's own words, because a tunnel or a proxy sends 404 as well. */
function saysUnknown({ status, body }: Answer, id: string): boolean {
  return status === 404 && body.includes(`Job ${id} does not exist`);
}

/** What Ray does before it starts a job, according to its API. */
function preparation({ runtime_env: environment }: Record<string, unknown>): string {
  const hasPip = isRecord(environment) && environment["pip"] !== undefined;
  return hasPip ? "it installs ray's pip packages for the job" : "it unpacks the job's package";
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

/** Returns the error of a Python traceback, or the status code if a proxy answered. */
function lastLine({ status, body }: Answer): string {
  const text = body.toString().trim();
  const line = text.split("\n").at(-1)?.trim() ?? "";
  return line === "" || text.startsWith("<") ? `status ${status}` : line.replace(/\.$/, "");
}
