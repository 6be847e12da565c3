import nodePath from "node:path";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { pathInside } from "../jobs/paths.ts";
import { isKitError } from "../protocol/error.ts";
import { setAwakeTimeout } from "../protocol/sleep.ts";

/** How long the project's code may take. */
const LIMIT_MS = 3_600_000;

/** The thrown error, or one that describes a thrown value of another kind. */
export function asError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  return new Error(
    `The project's code threw ${inspect(thrown)}. Throw an Error, which has a stack.`,
  );
}

/**
 * Gives Kit's error the stack of the project's call; its own stack, on another thread or after a wait,
 * would not help.
 * @param called the API function that the project called; it must call this synchronously. The stack
 * starts at its caller
 */
export async function withCallerStack<T>(called: object, work: () => Promise<T>): Promise<T> {
  const call: { stack?: string } = {};
  Error.captureStackTrace(call, called as () => unknown);
  try {
    return await work();
  } catch (error) {
    if (isKitError(error)) {
      const calls = call.stack?.split("\n").filter((line) => /^\s+at /.test(line)) ?? [];
      error.stack = [`${error.name}: ${error.message}`, ...calls].join("\n");
    }
    throw error;
  }
}

export function withLocation(text: string, error: Error): string {
  const file = sourceLocation(error);
  return file ? `${text} (${file})` : text;
}

/** A location on a stack: a URL, or the path of a source that a source map names. */
const LOCATION =
  /(?:^at (?:async )?|\()((?:(?:file:\/\/)?\/|[a-z]:[\\/]|\\\\)[^<>]*):(\d+):(\d+)\)?$/i;

/** The first location in the project's own sources on the stack: `src/kit/trainer.ts:3:9`. */
export function sourceLocation(
  error: Error,
  project = process.cwd(),
  system = nodePath,
): string | undefined {
  for (const line of error.stack?.split("\n") ?? []) {
    const found = LOCATION.exec(line.trim());
    if (!found) continue;
    const [, file = "", row, column] = found;
    const windows = system.sep === "\\";
    const path = file.startsWith("file:") ? fileURLToPath(file, { windows }) : file;
    const local = pathInside(project, path, system);
    if (local === undefined || /^(node_modules|\.kit)\b/.test(local)) continue;
    return `${local}:${row}:${column}`;
  }
  return undefined;
}

/** Settles as `work` does, or rejects as soon as the signal is aborted. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let abort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(asError(signal.reason));
  });
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort);
  try {
    return await Promise.race([aborted, work]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/**
 * Settles as `work` does. Rejects after the limit, or when the event loop is empty and nothing can settle it.
 * @param reason creates the error
 * @param limitMs default: an hour
 */
export async function orStuck<T>(
  work: Promise<T>,
  reason: () => Error,
  limitMs = LIMIT_MS,
): Promise<T> {
  let giveUp = () => {};
  const stuck = new Promise<never>((_, reject) => {
    giveUp = () => reject(reason());
  });
  process.once("beforeExit", giveUp);
  const timer = setAwakeTimeout(giveUp, limitMs).unref();
  try {
    return await Promise.race([work, stuck]);
  } finally {
    process.off("beforeExit", giveUp);
    clearTimeout(timer);
  }
}
