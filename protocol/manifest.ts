import type { ErrorResponse, Manifest } from "./http.ts";

/** What a `kit manifest` subprocess sends over IPC to the server that spawned it. */
export type ManifestMessage = Manifest | ErrorResponse;

/** Node's exit code when the event loop is empty and a top-level await has not settled. */
const UNSETTLED_AWAIT = 13;

/** Why a process ended while it was still loading the project's bundle. */
export function describeEarlyExit(exitCode: number | null): string {
  if (exitCode === UNSETTLED_AWAIT) {
    return "src/kit/index.ts never finished loading: a top-level await in it, or in what it imports, does not settle.";
  }
  return `src/kit/index.ts ended the process (exit code ${exitCode ?? "none"}) while it was loaded. Remove the process.exit() from it or from what it imports.`;
}
