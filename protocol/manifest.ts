import type { ErrorResponse, Manifest } from "./http.ts";

/** What a `kit manifest` subprocess sends over IPC to the server that spawned it. */
export type ManifestMessage = Manifest | ErrorResponse;

/** Tells it from what the project's own code may send over the same channel. */
export function isManifestMessage(value: unknown): value is ManifestMessage {
  if (typeof value !== "object" || value === null) return false;
  const { error, trainer } = value as Partial<Manifest & ErrorResponse>;
  return typeof error === "string" || trainer === null || typeof trainer?.name === "string";
}

/** The document's text for a bundle that loads but exposes no trainer. */
export const NO_TRAINER =
  "No trainer in src/kit/index.ts yet. Add createTrainer(...) and pass it to createKit.";

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
