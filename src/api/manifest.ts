import { type Manifest, ROUTES } from "../../protocol/http.ts";
import { isRecord, requestJson } from "./request.ts";

/** @throws {RequestError} */
export function fetchManifest(): Promise<Manifest> {
  return requestJson(ROUTES.manifest, isManifest);
}

function isManifest(value: unknown): value is Manifest {
  if (!isRecord(value)) return false;
  const { trainer } = value;
  return trainer === null || (isRecord(trainer) && typeof trainer.name === "string");
}
