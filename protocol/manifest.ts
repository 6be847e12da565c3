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
