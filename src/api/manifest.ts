import { type Manifest, ROUTES, isManifest } from "../../protocol/http.ts";
import { readResponse, request } from "./request.ts";

/** @throws RequestError */
export async function fetchManifest(): Promise<Manifest> {
  return readResponse(await request(ROUTES.manifest), ROUTES.manifest, isManifest);
}
