import { KitError, messageOf } from "../../protocol/error.ts";
import { formatCount } from "../../protocol/format.ts";
import { printableLines } from "../../protocol/printable.ts";
import type { TrainerCallbacks } from "../callbacks.ts";
import { asError, orStuck, withLocation } from "../projectCode.ts";

/** Limit of queued `onLog` calls. */
const MAX_LOGS = 1_000;
/** Time between two notes of `drain`. */
const NOTE_MS = 10_000;

type CallbackName = keyof TrainerCallbacks;

/** Kit's own work before a callback, without a time limit. */
export interface Preparation {
  /** Its progress, for people. */
  note: () => string;
  run: () => Promise<void>;
}

interface Call {
  name: CallbackName;
  call: () => unknown;
  /** Undefined when it is done. */
  preparation: Preparation | undefined;
}

/**
 * Calls callbacks one after another; the first error stops the rest. When 1,000 `onLog` calls wait, a new
 * one replaces the newest, so that the last log always arrives.
 */
export interface CallbackQueue {
  add: (name: CallbackName, call: () => unknown, preparation?: Preparation) => void;
  /**
   * Resolves when all callbacks added so far are done; rejects with the first error. Periodically notes what
   * it waits for.
   */
  drain: () => Promise<void>;
  /** Makes no further calls. */
  stop: () => void;
}

export interface CallbackQueueOptions {
  onError: (error: unknown) => void;
  onNote: (text: string) => void;
  /** Whether the trainer has the callback. */
  has: (name: CallbackName) => boolean;
  /** How long a callback may take. Default: an hour. */
  limitMs?: number | undefined;
}

export function createCallbackQueue(options: CallbackQueueOptions): CallbackQueue {
  const { onError, onNote, has, limitMs } = options;
  /** The first one is running. */
  const calls: Call[] = [];
  let isCalling = false;
  let isStopped = false;
  let hasWarned = false;
  let done = Promise.resolve();

  async function callAll(): Promise<void> {
    for (let next = calls[0]; next && !isStopped; next = calls[0]) {
      await next.preparation?.run();
      next.preparation = undefined;
      if (isStopped) return;
      await callWithin(limitMs, next.name, next.call);
      calls.shift();
    }
    isCalling = false;
  }

  function limitLogs(): void {
    if (calls.filter(({ name }) => name === "onLog").length < MAX_LOGS) return;
    calls.splice(
      calls.findLastIndex(({ name }) => name === "onLog"),
      1,
    );
    if (hasWarned || !has("onLog")) return;
    hasWarned = true;
    onNote(
      `warning: onLog is slower than training: ${formatCount(MAX_LOGS)} calls are queued, so it misses logs from now on; the job's log has them all`,
    );
  }

  return {
    add(name, call, preparation) {
      if (isStopped) return;
      if (name === "onLog") limitLogs();
      calls.push({ name, call, preparation });
      if (isCalling) return;
      isCalling = true;
      done = done.then(callAll);
      done.catch((error: unknown) => {
        isStopped = true;
        onError(error);
      });
    },
    async drain() {
      const timer = setInterval(() => {
        const note = waitingNote(calls, has);
        if (!isStopped && note !== undefined) onNote(note);
      }, NOTE_MS).unref();
      try {
        await done;
      } finally {
        clearInterval(timer);
      }
    },
    stop() {
      isStopped = true;
    },
  };
}

/** `evaluating step 20 …; waiting for callbacks: 1,000 of onLog, 2 of onCheckpoint` */
function waitingNote(calls: readonly Call[], has: CallbackQueueOptions["has"]): string | undefined {
  const counts = new Map<CallbackName, number>();
  for (const { name } of calls) if (has(name)) counts.set(name, (counts.get(name) ?? 0) + 1);
  const counted = [...counts].map(([name, count]) => `${formatCount(count)} of ${name}`);
  const waiting = counted.length > 0 ? [`waiting for callbacks: ${counted.join(", ")}`] : [];
  const notes = [...(calls[0]?.preparation ? [calls[0].preparation.note()] : []), ...waiting];
  return notes.length > 0 ? notes.join("; ") : undefined;
}

/** Calls a callback after the job's end: prints an error instead of throwing it. */
export async function callFinal(
  name: keyof TrainerCallbacks,
  call: () => unknown,
  limitMs?: number,
): Promise<void> {
  try {
    await callWithin(limitMs, name, call);
  } catch (thrown) {
    const error = asError(thrown);
    // Not process.emitWarning(), which would print after kit start has exited.
    const text = `${name} failed: ${withLocation(messageOf(error), error)}`;
    process.stderr.write(`kit: ${printableLines(text)}\n`);
  }
}

/** @throws KitError `CALLBACK_STUCK` after the limit, or when the event loop is empty */
export async function callWithin(
  limitMs: number | undefined,
  name: string,
  call: () => unknown,
): Promise<void> {
  const stuckError = () =>
    new KitError(
      "CALLBACK_STUCK",
      `${name} never returned. Look for a promise in it that does not settle.`,
    );
  // A synchronous error is thrown here.
  await orStuck(Promise.resolve(call()), stuckError, limitMs);
}
