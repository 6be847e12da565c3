import type { ErrorResponse, Manifest } from "./http.ts";
import { isRecord } from "./isRecord.ts";

/** The message that a `kit manifest` subprocess sends to the server over IPC. */
export type ManifestMessage = Manifest | ErrorResponse;

/** The project's own code may send other messages over the same channel. */
export function isManifestMessage(value: unknown): value is ManifestMessage {
  return isManifest(value) || (isRecord(value) && typeof value.error === "string");
}

export function isManifest(value: unknown): value is Manifest {
  if (!isRecord(value)) return false;
  const { trainer } = value;
  return trainer === null || (isRecord(trainer) && typeof trainer.name === "string");
}
