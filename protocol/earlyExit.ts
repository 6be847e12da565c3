/** Node's exit code when the event loop is empty and a top-level await has not settled. */
const UNSETTLED_AWAIT = 13;

/** Why a process ended while it was still loading the project's bundle. */
export function describeEarlyExit(exitCode: number | null, signal?: string | null): string {
  if (signal) {
    return `src/kit/index.ts was ended by ${signal} while it was loaded. Try again; if this stays, load less in it and in what it imports: memory may be short.`;
  }
  if (exitCode === UNSETTLED_AWAIT) {
    return "src/kit/index.ts never finished loading: a top-level await in it, or in what it imports, does not settle. Look for a promise that nothing resolves.";
  }
  return `src/kit/index.ts ended the process (exit code ${exitCode ?? "none"}) while it was loaded. Remove the process.exit() from it or from what it imports.`;
}
