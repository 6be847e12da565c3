import { messageOf } from "../../protocol/error.ts";
import type { Route } from "../context.ts";
import { closeSignal, sendError, sendJson } from "../http/respond.ts";

/** `GET /api/manifest`: builds the project and answers with what it exposes. */
export const getManifest: Route = async ({ manifests }, { response }) => {
  try {
    sendJson(response, 200, await manifests.read(closeSignal(response)));
  } catch (error) {
    sendError(response, 422, messageOf(error));
  }
};
