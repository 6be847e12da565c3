import { constants } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";
import { KitError, isKitError, messageOf } from "../../protocol/error.ts";
import { createLineSplitter } from "../python/lines.ts";
import { type JobLog, type RayMessage, assertMessage, parseLine } from "./messages.ts";
import type { Remote, RemoteStatus } from "./rayJobs.ts";

/** Pause between polls. */
const PAUSE_MS = 500;
/** The driver's heartbeat interval, and the other lines to reread. If they aren't enough, the whole log is read. */
const HEARTBEAT_MS = 5_000;
const TAIL_LINES = 64;
/** How long a cluster may be unreachable. */
const LOST_MS = 120_000;
/** Limit of what one attempt adds to that; a longer gap means that this machine slept. */
const MAX_ATTEMPT_MS = 31_000;

const EXIT_CODE = /\bfailed with exit code (-?\d+)/;
/** The line of pip's output that states the cause. */
const PIP_ERROR = /^ERROR: /;
/** The last line of a Python traceback. */
const PYTHON_ERROR = /^[\w.]*(?:Error|Exception): ./;

export interface FollowOptions {
  /** Number and time (by `now`) of the last message that the caller has seen. */
  after?: { seq: number; at: number };
  /** The session that the job was submitted to. The job is lost only if this session no longer knows it. */
  submittedTo?: { session: string | undefined };
  /** How long the cluster may stay silent, in ms. */
  lostMs?: number | undefined;
  /** A clock, in ms. */
  now?: () => number;
  /** Called once if the job is still waiting to start. */
  onNote?: ((text: string) => void) | undefined;
}

/**
 * Yields a job's messages, each once and in order, even if the connection breaks or lines are lost: rereads the end of
 * the log, or all of it if needed, and drops messages that it has seen.
 * @throws KitError `ENGINE_REPORT_INVALID`; `WORKER_FAILED` if the job ends without a last message, is unknown to the
 * cluster, or its log lacks a message; `CLUSTER_UNREACHABLE` after two minutes of silence; `CANNOT_FOLLOW` if another
 * cluster than the job's may be at the address
 */
export async function* follow(
  remote: Remote,
  { id, secret }: JobLog,
  signal: AbortSignal,
  {
    after,
    submittedTo,
    lostMs = LOST_MS,
    now = () => performance.now(),
    onNote,
  }: FollowOptions = {},
): AsyncGenerator<RayMessage> {
  const silence = createSilenceTimer(remote, lostMs, now);
  let seen = after?.seq ?? 0;
  let seenAt = after?.at ?? 0;
  let missing = 0;
  let mustReadAll = false;
  let hasWaited = false;
  for (;;) {
    signal.throwIfAborted();
    const before = seen;
    let cause: unknown = new Error("no new line in its log");
    try {
      const state = await remote.status(id, signal);
      if (state.phase === "unknown") {
        if (submittedTo) await assertSession(remote, submittedTo.session, signal);
        throw unknownJob(remote, id);
      }
      if (state.phase === "waiting") {
        cause = undefined;
        const why = state.message === undefined ? "" : `: ${state.message}`;
        if (!hasWaited) onNote?.(`waiting for ${remote.name}${why}`);
        hasWaited = true;
      } else {
        const isEnded = state.phase === "ended";
        const readsAll = seen === 0 || mustReadAll;
        mustReadAll = false;
        const lines = readsAll
          ? undefined
          : TAIL_LINES + Math.ceil((now() - seenAt) / HEARTBEAT_MS);
        for await (const line of linesOf(remote.log(id, { isEnded, lines }, signal))) {
          const message = parseLine(line, secret);
          if (!message || !(message.seq > seen)) continue;
          const next = seen + 1;
          if (message.seq !== next) {
            if (readsAll && missing === next) throw incomplete(remote, id, missing);
            if (readsAll) missing = next;
            mustReadAll = true;
            throw new Error(`its log lacks message ${next}`);
          }
          assertMessage(message);
          seen = next;
          seenAt = now();
          if (message.type !== "beat") yield message;
          if (isLast(message)) return;
        }
        if (isEnded) {
          cause = endedSilently(remote, id, state);
          // The rest of its log may still arrive.
          if (!state.hasSucceeded) throw cause;
        }
      }
    } catch (error) {
      signal.throwIfAborted();
      if (isFailure(error)) throw error;
      // The connection broke or lost a line.
      cause = error;
    }
    if (cause === undefined || seen > before) silence.end();
    else silence.extend(cause);
    await delay(PAUSE_MS, undefined, { signal });
  }
}

/** Tolerates silence for a while; counts only time awake, from the first silent attempt on. */
function createSilenceTimer(remote: Remote, lostMs: number, now: () => number) {
  let last: number | undefined;
  let silentMs = 0;
  return {
    end: () => (last = undefined),
    /** @throws KitError the cause, or `CLUSTER_UNREACHABLE`, once it has lasted too long */
    extend(cause: unknown): void {
      const at = now();
      silentMs = last === undefined ? 0 : silentMs + Math.min(at - last, MAX_ATTEMPT_MS);
      last = at;
      if (silentMs < lostMs) return;
      throw isFailure(cause) ? cause : lostContact(remote, cause);
    },
  };
}

async function* linesOf(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const split = createLineSplitter();
  for await (const chunk of bytes) yield* split(chunk);
}

function isFailure(error: unknown): error is KitError {
  return isKitError(error) && error.code !== "CLUSTER_UNREACHABLE";
}

function isLast({ type }: RayMessage): boolean {
  return type === "done" || type === "failed";
}

function endedSilently({ name }: Remote, id: string, { message = "" }: RemoteStatus): KitError {
  return new KitError(
    "WORKER_FAILED",
    `Job ${id} on ${name} ended unexpectedly: ${failureReason(message)}. See its log there: ray job logs ${id}.`,
  );
}

function incomplete({ name }: Remote, id: string, missing: number): KitError {
  return new KitError(
    "WORKER_FAILED",
    `The log of job ${id} on ${name} lacks message ${missing}. Run npx kit start --resume to continue from the last checkpoint.`,
  );
}

function unknownJob({ name }: Remote, id: string): KitError {
  return new KitError(
    "WORKER_FAILED",
    `Job ${id} is unknown to ${name}: it never arrived there, or the cluster was restarted. Try again; npx kit start --resume continues training from the last checkpoint.`,
  );
}

function lostContact({ name }: Remote, cause: unknown): KitError {
  return new KitError(
    "CLUSTER_UNREACHABLE",
    `Lost contact with ${name}: the job was silent for two minutes (${messageOf(cause)}). Check that this machine can reach it.`,
    { cause },
  );
}

/** Extracts why a job ended from Ray's message, whose first line is often only a title. */
export function failureReason(message: string): string {
  const lines = stripVTControlCharacters(message)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !parseLine(line));
  const [first = ""] = lines;
  const code = Number(EXIT_CODE.exec(first)?.[1] ?? NaN);
  if (code < 0) return `its driver was killed by ${signalOf(-code)}`;
  const why =
    lines.find((line) => PIP_ERROR.test(line)) ?? lines.findLast((line) => PYTHON_ERROR.test(line));
  if (Number.isNaN(code)) return asClause(why ?? first);
  return `its driver exited with code ${code}${asClause(why ?? lines.slice(1).at(-1) ?? "", ": ")}`;
}

function signalOf(number: number): string {
  const [name = `signal ${number}`] =
    Object.entries(constants.signals).find(([, known]) => known === number) ?? [];
  return name === "SIGKILL" ? `${name}, as when its node runs out of memory` : name;
}

function asClause(text: string, prefix = ""): string {
  const clause = text.replace(/[.:]+$/, "");
  return clause && prefix + clause;
}

/**
 * Asserts that the cluster at the address is still the job's: after a restart, or through a tunnel, it may be another.
 * @param session of the job's cluster, if known
 * @throws KitError `CANNOT_FOLLOW` for another cluster; `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED`
 */
export async function assertSession(
  remote: Remote,
  session: string | undefined,
  signal?: AbortSignal,
): Promise<void> {
  const now = await remote.session(signal);
  if (session !== undefined && now === session) return;
  throw new KitError(
    "CANNOT_FOLLOW",
    `Another cluster answers at ${remote.address}. Reconnect the original. If it was restarted, the job is lost: delete its placement.json and run npx kit start --resume.`,
  );
}
