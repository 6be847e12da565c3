/** Node's exit code when the event loop is empty and a top-level await has not settled. */
const UNSETTLED_AWAIT = 13;

/** Why a process ended while it was still loading the project's bundle. */
export function describeEarlyExit(exitCode: number | null, signal?: string | null): string {
  if (signal) {
    return `src/kit/index.ts was ended by ${signal} while it was loaded. Try again. If it happens again, memory may be short: load less in this file and its imports.`;
  }
  if (exitCode === UNSETTLED_AWAIT) {
    return "src/kit/index.ts never finished loading: a top-level await in this file or its imports never settles. Look for a promise that nothing resolves.";
  }
  return `src/kit/index.ts ended the process (exit code ${exitCode ?? "none"}) while it was loaded. Remove the process.exit() from this file or its imports.`;
}
