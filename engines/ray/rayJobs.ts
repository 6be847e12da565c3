import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { KitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import constants from "../constants.json" with { type: "json" };
import { type ReadyOptions, assertReady, readVersion } from "./assertReady.ts";
import type { Cluster } from "./cluster.ts";
import { type HttpResponse, type Http, createHttp, jsonOf, unreachable } from "./http.ts";
import { type PackedFile, zip } from "./zip.ts";

/** A log is read again after this much silence; the driver's heartbeats come every 5 seconds. */
const SILENCE_MS = 20_000;
const POLL_MS = 250;
/** How long to retry a submission without a response, or to a busy cluster. */
const SUBMIT_MS = 60_000;
const BUSY_MS = 2_000;
/** How long a stopped job may take to end, or a submitted one to arrive. Ray kills a job after a few seconds. */
const STOP_MS = 20_000;
/** Status codes of a gateway that could not reach the dashboard or lost its response. */
const GATEWAY_ERRORS: readonly number[] = [502, 503, 504];

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
  // The workers' working directory is the package, like the driver's.
  RAY_CHDIR_TO_TRIAL_DIR: "0",
  HF_HUB_OFFLINE: "1",
  TOKENIZERS_PARALLELISM: "false",
  PYTHONUNBUFFERED: "1",
};

/** A cluster that runs jobs and keeps their logs. */
export type Remote = ReturnType<typeof createRayJobs>;

export interface Submission {
  id: string;
  /** The job gets it in `KIT_JOB_SECRET` and marks its messages with it. */
  secret: string;
  /** Files in the job's working directory. */
  files: readonly PackedFile[];
  command: string;
  /** Aborts the submission, at once or soon after the request; the job may then exist. */
  signal?: AbortSignal | undefined;
  /** Called with the cluster's session once the files are there, just before the job starts. */
  onSend?: (session: string | undefined) => void;
}

export interface RemoteStatus {
  /** `unknown`: it was never submitted, or the cluster has forgotten it. */
  phase: "waiting" | "running" | "ended" | "unknown";
  /** For an ended job: whether its program succeeded. */
  hasSucceeded?: boolean;
  /** What the job waits for, or why it ended, if the cluster knows. */
  message?: string;
}

/** Ray's Jobs API, as a cluster's dashboard serves it. Ignores responses that aren't Ray's. */
export function createRayJobs(cluster: Cluster) {
  const address = cluster.address();
  const http = createHttp(address, cluster.token(), cluster.isRecorded);
  /** Ids of jobs that were sent but may not have arrived yet. */
  const unconfirmed = new Set<string>();

  /** Starts a job, or finds the one that an earlier call started under this id. */
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
    // The request may still arrive after we stop waiting for its response.
    const lateSignal = abortedLater(signal, STOP_MS);
    const job = { method: "POST", path: "/api/jobs/", body, signal: lateSignal } as const;
    unconfirmed.add(id);
    for (const deadline = performance.now() + SUBMIT_MS; ;) {
      const response = await http.call(job).then(unlessLost, undefinedIfLost);
      if (response) unconfirmed.delete(id);
      // The response was lost, or Ray refused a second job with this id: in both cases, the first one is there.
      if (response?.status === 200 || (await find(id, lateSignal).catch(undefinedIfLost))) return;
      const isBusy = !response || response.body.includes("try again");
      if (!isBusy || performance.now() > deadline) throw notSubmitted(address, response);
      await delay(BUSY_MS, undefined, { signal });
    }
  }

  /** @throws KitError `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED` */
  async function find(id: string, signal?: AbortSignal): Promise<JobRecord | undefined> {
    const response = await http.call({ method: "GET", path: `/api/jobs/${id}`, signal });
    if (isUnknownJob(response, id)) return undefined;
    const found = jsonOf(response);
    if (response.status === 200 && isRecord(found) && STATUSES.has(found["status"])) return found;
    // The dashboard is busy or lost its own connection, or a proxy responded.
    throw unreachable(address, new Error(`status ${response.status} instead of the job's record`));
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
   * Streams a job's log until the connection closes.
   * @param options.isEnded whether the log is complete; otherwise waits for more
   * @param options.lines number of last lines to start from. Default: the whole log
   */
  async function* log(
    id: string,
    { isEnded, lines = -1 }: { isEnded: boolean; lines?: number | undefined },
    signal: AbortSignal,
  ): AsyncIterable<Buffer> {
    const node = (await find(id, signal))?.["driver_node_id"];
    if (typeof node !== "string") return;
    const query = `node_id=${node}&submission_id=${id}&lines=${lines}`;
    const path = isEnded ? `file?${query}` : `stream?${query}&interval=${POLL_MS / 1000}`;
    yield* bytesOf(`/api/v0/logs/${path}`, signal);
  }

  async function* bytesOf(path: string, signal: AbortSignal): AsyncIterable<Buffer> {
    const response = await http.open({ method: "GET", path, signal, silenceMs: SILENCE_MS });
    try {
      if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
      yield* response as AsyncIterable<Buffer>;
    } catch (cause) {
      signal.throwIfAborted();
      throw unreachable(address, cause);
    } finally {
      response.destroy();
    }
  }

  /**
   * Stops a job, and resolves once it has ended.
   * @throws KitError `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED` within half a minute, if it may still run
   */
  async function stop(id: string): Promise<void> {
    const signal = AbortSignal.timeout(STOP_MS);
    try {
      let response = await requestStop(id, signal);
      if (isUnknownJob(response, id) && unconfirmed.delete(id)) {
        await delay(BUSY_MS, undefined, { signal });
        response = await requestStop(id, signal);
      }
      if (isUnknownJob(response, id)) return;
      if (response.status !== 200)
        throw unreachable(address, new Error(`status ${response.status}`));
      for (;;) {
        const { phase } = await status(id, signal);
        if (phase === "ended" || phase === "unknown") return;
        await delay(POLL_MS, undefined, { signal });
      }
    } catch (cause) {
      if (signal.aborted) throw unreachable(address, new Error("it did not stop the job"));
      throw cause;
    }
  }

  function requestStop(id: string, signal: AbortSignal): Promise<HttpResponse> {
    return http.call({ method: "POST", path: `/api/jobs/${id}/stop`, body: {}, signal });
  }

  /** Sends bytes to a running job. @param name unique name of this message */
  async function send(id: string, name: string, bytes: Buffer): Promise<void> {
    // The job can read the cluster's key-value store: kit_ray/mailbox.py.
    const path = `/api/packages/gcs/${id}-${name}.zip`;
    const sent = await http.call({ method: "PUT", path, body: bytes });
    if (sent.status !== 200) throw notSent(sent);
  }

  return {
    /** The cluster's name in messages. */
    name: `the Ray cluster at ${address}`,
    address,
    /**
     * Checks that jobs can run there, before anything is read or sent.
     * @throws KitError `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED`, `CLUSTER_UNFIT`
     */
    assertReady: (options?: ReadyOptions) => assertReady(http, cluster, options),
    submit,
    status,
    log,
    stop,
    send,
    /** The cluster's session, new at each start of its head node; undefined if unknown. */
    session: async (signal?: AbortSignal) => (await readVersion(http, signal)).session,
    /** Reads a file that a job has staged. @throws KitError `CLUSTER_UNREACHABLE` if the connection breaks */
    read: ({ node, path }: { node: string; path: string }, signal: AbortSignal) =>
      bytesOf(
        `/api/v0/logs/file?node_id=${node}&filename=${encodeURIComponent(path)}&lines=-1`,
        signal,
      ),
  };
}

function unlessLost(response: HttpResponse): HttpResponse | undefined {
  return GATEWAY_ERRORS.includes(response.status) ? undefined : response;
}

/** A signal that aborts `ms` after another one. */
function abortedLater(signal: AbortSignal | undefined, ms: number): AbortSignal {
  const late = new AbortController();
  const abort = () => setTimeout(() => late.abort(signal?.reason), ms).unref();
  signal?.addEventListener("abort", abort, { once: true });
  return late.signal;
}

function undefinedIfLost(error: unknown): undefined {
  if (error instanceof KitError && error.code === "CLUSTER_UNREACHABLE") return undefined;
  throw error;
}

/** Without a response, the job may exist. */
function notSubmitted(address: string, response: HttpResponse | undefined): KitError {
  if (!response) return unreachable(address, new Error("no response to a new job"));
  return new KitError(
    "CLUSTER_UNFIT",
    `The Ray cluster at ${address} rejected the job: ${lastLine(response)}. See the log of its dashboard.`,
  );
}

/** Compares Ray's own text, since tunnels and proxies also send 404. */
function isUnknownJob({ status, body }: HttpResponse, id: string): boolean {
  return status === 404 && body.includes(`Job ${id} does not exist`);
}

/** What Ray does before it starts a job; its API doesn't say, so this derives it from the job. */
function preparation({ runtime_env: environment }: Record<string, unknown>): string {
  const hasPip = isRecord(environment) && environment["pip"] !== undefined;
  return hasPip ? "it installs ray's pip packages for the job" : "it unpacks the job's package";
}

/** @returns its URI, derived from its content, so that each package is uploaded only once */
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

function notSent(response: HttpResponse): KitError {
  return new KitError(
    "CLUSTER_UNFIT",
    `The Ray cluster rejected the package: ${lastLine(response)}. See the log of its dashboard.`,
  );
}

/** Returns the error of a Python traceback, or the status code if a proxy responded. */
function lastLine({ status, body }: HttpResponse): string {
  const text = body.toString().trim();
  const line = text.split("\n").at(-1)?.trim() ?? "";
  return line === "" || text.startsWith("<") ? `status ${status}` : line.replace(/\.$/, "");
}
