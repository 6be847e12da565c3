import { KitError, messageOf } from "../protocol/error.ts";
import { printableLines } from "../protocol/printable.ts";
import type { TrainerCallbacks } from "./callbacks.ts";
import { asError, withPlace } from "./thrown.ts";

/** How long a callback may take. */
const CALLBACK_LIMIT_MS = 3_600_000;

/** Calls callbacks one after another; the first error stops the rest. */
export interface CallbackQueue {
  add: (name: keyof TrainerCallbacks, call: () => unknown) => void;
  /** Resolves when all callbacks added so far are done; rejects with the first error. */
  drain: () => Promise<void>;
  /** Makes no further calls. */
  stop: () => void;
}

export function createCallbackQueue(
  onError: (error: unknown) => void,
  limitMs = CALLBACK_LIMIT_MS,
): CallbackQueue {
  let isStopped = false;
  let last: Promise<void> = Promise.resolve();
  return {
    add(name, call) {
      last = last.then(() => (isStopped ? undefined : callWithin(limitMs, name, call)));
      last.catch((error: unknown) => {
        isStopped = true;
        onError(error);
      });
    },
    drain: () => last,
    stop() {
      isStopped = true;
    },
  };
}

/** Reports an error instead of throwing it, because the job has already ended. */
export async function callLast(
  name: keyof TrainerCallbacks,
  call: () => unknown,
  limitMs = CALLBACK_LIMIT_MS,
): Promise<void> {
  try {
    await callWithin(limitMs, name, call);
  } catch (thrown) {
    const error = asError(thrown);
    // Not process.emitWarning(), which would print after kit start has exited.
    const text = `${name} failed: ${withPlace(messageOf(error), error)}`;
    process.stderr.write(`kit: ${printableLines(text)}\n`);
  }
}

/** @throws KitError `CALLBACK_STUCK` after the limit, or when the event loop is empty */
export async function callWithin(
  limitMs: number,
  name: string,
  call: () => unknown,
): Promise<void> {
  let giveUp = () => {};
  const stuck = new Promise<never>((_, reject) => {
    giveUp = () => {
      const message = `${name} never returned. Look for a promise in it that does not settle.`;
      reject(new KitError("CALLBACK_STUCK", message));
    };
  });
  const timer = setTimeout(giveUp, limitMs).unref();
  process.once("beforeExit", giveUp);
  try {
    await Promise.race([call(), stuck]);
  } finally {
    clearTimeout(timer);
    process.off("beforeExit", giveUp);
  }
}
