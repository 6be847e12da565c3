import { isRecord } from "../../protocol/isRecord.ts";
import { type Manifest, ROUTES } from "../../protocol/http.ts";
import { readResponse, request } from "./request.ts";

/** @throws RequestError */
export async function fetchManifest(): Promise<Manifest> {
  return readResponse(await request(ROUTES.manifest), ROUTES.manifest, isManifest);
}

function isManifest(value: unknown): value is Manifest {
  if (!isRecord(value)) return false;
  const { trainer } = value;
  return trainer === null || (isRecord(trainer) && typeof trainer.name === "string");
}
