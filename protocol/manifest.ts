import type { ErrorResponse, Manifest } from "./http.ts";
import { isRecord } from "./isRecord.ts";

/** The message that a `kit manifest` subprocess sends to the server over IPC. */
export type ManifestMessage = Manifest | ErrorResponse;

/** The project's own code may send other messages over the same channel. */
export function isManifestMessage(value: unknown): value is ManifestMessage {
  if (!isRecord(value)) return false;
  const { error, trainer } = value as Partial<Manifest & ErrorResponse>;
  return typeof error === "string" || trainer === null || typeof trainer?.name === "string";
}
