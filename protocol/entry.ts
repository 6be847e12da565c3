/** The file that exposes a project's trainer. */
export const DEFAULT_ENTRY = "src/kit/index.ts";

/** How long loading a project may take, in ms. */
export const LOAD_LIMIT_MS = 30_000;

/** Node's exit code when the event loop is empty and a top-level await has not settled. */
const UNSETTLED_AWAIT = 13;

/** The message for a bundle that exposes no trainer. The product's specification fixes its words. */
export function noTrainer(entry = DEFAULT_ENTRY): string {
  return `No trainer in ${entry} yet. Add createTrainer(...) and pass it to createKit.`;
}

export function stillLoading(entry: string, limitMs: number): string {
  return `${entry} did not finish loading within ${limitMs / 1000} s. Remove the loop or top-level await that never ends, in this file or its imports.`;
}

/** Why a process ended before its work was done. */
export function endedTooEarly(work: "job" | "check" | "evaluation", exitCode: number): string {
  return `The process ended with exit code ${exitCode} before the ${work} did. Remove the process.exit(), or the promise that never settles, from the project's code.`;
}

/** Why a process ended while it was still loading the project's bundle. */
export function describeEarlyExit(
  entry: string,
  exitCode: number | undefined,
  signal?: string,
): string {
  if (signal) {
    return `${signal} ended ${entry} while it was loaded. Try again. If it happens again, memory may be short: load less in this file and its imports.`;
  }
  if (exitCode === UNSETTLED_AWAIT) {
    return `${entry} never finished loading: a top-level await in this file or its imports never settles. Look for a promise that nothing resolves.`;
  }
  return `${entry} ended the process (exit code ${exitCode ?? "none"}) while it was loaded. Remove the process.exit() from this file or its imports.`;
}
