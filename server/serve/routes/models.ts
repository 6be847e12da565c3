import { sendJson } from "../../http/respond.ts";
import { ApiError, sendApiError } from "../apiError.ts";
import type { ServeRoute } from "../context.ts";
import type { ServedModel } from "../shelf.ts";

/** `GET /v1/models` */
export const getModels: ServeRoute = ({ models }, { response }) => {
  const data = models.names().map(({ name, served }) => asModel(name, served));
  sendJson(response, 200, { object: "list", data });
};

/** `GET /v1/models/{path}` */
export const getModel: ServeRoute = ({ models }, { response }, path) => {
  const asked = decodeURIComponent(path);
  const found = models.names().find(({ name }) => name === asked);
  if (found) return sendJson(response, 200, asModel(found.name, found.served));
  const message = "There is no model of this name. Choose one that GET /v1/models lists.";
  sendApiError(response, new ApiError(404, message, { param: "model", code: "model_not_found" }));
};

function asModel(id: string, { created }: ServedModel) {
  return { id, object: "model", created, owned_by: "kit" };
}
