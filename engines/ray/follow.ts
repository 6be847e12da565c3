import { constants } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";
import { KitError, isKitError, messageOf } from "../../protocol/error.ts";
import { createLineSplitter } from "../python/lines.ts";
import { type JobLog, type RayMessage, assertMessage, parseLine } from "./messages.ts";
import type { Remote, RemoteStatus } from "./rayJobs.ts";

/** Pause between polls. */
const PAUSE_MS = 500;
/** The driver's beat, in ms, and lines between two of them besides; more are read from the log's start. */
const BEAT_MS = 5_000;
const LINES_AT_ONCE = 64;
/** How long a cluster may be unreachable. */
const LOST_MS = 120_000;
/** The most that one attempt adds to that; anything longer means that this machine slept. */
const MAX_ATTEMPT_MS = 31_000;

const EXITED = /\bfailed with exit code (-?\d+)/;
/** How pip begins the line that says why. */
const PIP = /^ERROR: /;
/** Ends a Python traceback. */
const PYTHON = /^[\w.]*(?:Error|Exception): ./;

export interface FollowOptions {
  /** The number of the last message that was taken, and when (`now`). */
  after?: { seq: number; at: number };
  /** The session that took the job. The job is lost only if this session no longer knows it. */
  submittedTo?: { session: string | undefined };
  /** How long the cluster may stay silent, in ms. */
  lostMs?: number | undefined;
  /** A clock, in ms. */
  now?: () => number;
  /** Takes a line if the job has not started yet. */
  onNote?: ((text: string) => void) | undefined;
}

/**
 * The messages of a job, each once and in order, however often the connection breaks or a line is lost:
 * the end of the log is read again, or all of it where that is not enough, and what was seen is dropped.
 * @throws KitError `ENGINE_REPORT_INVALID`; `WORKER_FAILED` if the job ends without a last message, is unknown there, or its log
 * itself lacks a message; `CLUSTER_UNREACHABLE` after two minutes without an answer or a new line;
 * `CANNOT_FOLLOW` if it was submitted, and perhaps not to the cluster that answers
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
  const silence = createSilence(remote, lostMs, now);
  let seen = after?.seq ?? 0;
  let seenAt = after?.at ?? 0;
  let missing = 0;
  let needsAll = false;
  let hasWaited = false;
  for (;;) {
    signal.throwIfAborted();
    const before = seen;
    let cause: unknown = new Error("no new line in its log");
    try {
      const state = await remote.status(id, signal);
      if (state.phase === "unknown") {
        if (submittedTo) await assertSession(remote, submittedTo.session, signal);
        throw forgotten(remote, id);
      }
      if (state.phase === "waiting") {
        cause = undefined;
        const why = state.message === undefined ? "" : `: ${state.message}`;
        if (!hasWaited) onNote?.(`waiting for ${remote.name}${why}`);
        hasWaited = true;
      } else {
        const isEnded = state.phase === "ended";
        const isAll = seen === 0 || needsAll;
        needsAll = false;
        const lines = isAll ? undefined : LINES_AT_ONCE + Math.ceil((now() - seenAt) / BEAT_MS);
        for await (const line of linesOf(remote.log(id, { isEnded, lines }, signal))) {
          const message = parseLine(line, secret);
          if (!message || !(message.seq > seen)) continue;
          const next = seen + 1;
          if (message.seq !== next) {
            if (isAll && missing === next) throw incomplete(remote, id, missing);
            if (isAll) missing = next;
            needsAll = true;
            throw new Error(`message ${next} is missing in its log`);
          }
          assertMessage(message);
          seen = next;
          seenAt = now();
          if (message.type !== "beat") yield message;
          if (isLast(message)) return;
        }
        if (isEnded) {
          cause = endedSilently(remote, id, state);
          // The rest of its log may be on its way.
          if (!state.hasSucceeded) throw cause;
        }
      }
    } catch (error) {
      signal.throwIfAborted();
      if (isFailure(error)) throw error;
      // The connection broke or lost a line.
      cause = error;
    }
    if (cause === undefined || seen > before) silence.ends();
    else silence.goesOn(cause);
    await delay(PAUSE_MS, undefined, { signal });
  }
}

/** Forgives silence for a while, counted while awake from the first attempt that heard nothing. */
function createSilence(remote: Remote, lostMs: number, now: () => number) {
  let last: number | undefined;
  let silentMs = 0;
  return {
    ends: () => (last = undefined),
    /** @throws KitError that is the cause, or `CLUSTER_UNREACHABLE` */
    goesOn(cause: unknown): void {
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
    `The job ${id} on ${name} ended unexpectedly: ${failureReason(message)}. See its log there: ray job logs ${id}.`,
  );
}

function incomplete({ name }: Remote, id: string, missing: number): KitError {
  return new KitError(
    "WORKER_FAILED",
    `The log of the job ${id} on ${name} lacks its message ${missing}. Run npx kit start --resume to go on from its last checkpoint.`,
  );
}

function forgotten({ name }: Remote, id: string): KitError {
  return new KitError(
    "WORKER_FAILED",
    `The job ${id} is unknown to ${name}: it did not arrive there, or the cluster was started anew. Try again; a training goes on from its last checkpoint with npx kit start --resume.`,
  );
}

function lostContact({ name }: Remote, cause: unknown): KitError {
  return new KitError(
    "CLUSTER_UNREACHABLE",
    `Lost contact with ${name}: nothing was heard of the job for two minutes (${messageOf(cause)}). Check that this machine reaches it.`,
    { cause },
  );
}

/** Why a job ended, out of Ray's message, whose first line is often only a title: a clause. */
export function failureReason(message: string): string {
  const lines = stripVTControlCharacters(message)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !parseLine(line));
  const [first = ""] = lines;
  const code = Number(EXITED.exec(first)?.[1] ?? NaN);
  if (code < 0) return `its driver was ended by ${signalOf(-code)}`;
  const why = lines.find((line) => PIP.test(line)) ?? lines.findLast((line) => PYTHON.test(line));
  if (Number.isNaN(code)) return withoutEnd(why ?? first);
  return `its driver exited with code ${code}${withoutEnd(why ?? lines.slice(1).at(-1) ?? "", ": ")}`;
}

function signalOf(number: number): string {
  const [name = `signal ${number}`] =
    Object.entries(constants.signals).find(([, known]) => known === number) ?? [];
  return name === "SIGKILL" ? `${name}, as happens when its node runs out of memory` : name;
}

function withoutEnd(text: string, before = ""): string {
  const clause = text.replace(/[.:]+$/, "");
  return clause && before + clause;
}

/**
 * A remote may stand where the job's own stood, as behind a tunnel.
 * @param session the job's, if it is known
 * @throws KitError `CANNOT_FOLLOW` unless it is the remote's; `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED`
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
    `Another cluster answers at ${remote.address}. Reconnect the original. If that was restarted, the job is lost: delete its placement.json and run npx kit start --resume.`,
  );
}
