import { sendJson } from "../http/respond.ts";
import { createCompletionRoute } from "./answer.ts";
import { ApiError, sendApiError } from "./apiError.ts";
import { CHAT_FORMAT } from "./chatFormat.ts";
import { chatRequest } from "./chatRequest.ts";
import { COMPLETION_FORMAT } from "./completionFormat.ts";
import { completionRequest } from "./completionRequest.ts";
import type { ServeRoute } from "./context.ts";
import { FILE_ROUTES } from "./fineTuning/fileRoutes.ts";
import { JOB_ROUTES } from "./fineTuning/jobRoutes.ts";
import type { ServedModel } from "./modelPool.ts";
import { RESPONSE_FORMAT } from "./responses/responseFormat.ts";
import { responseRequest } from "./responses/responseRequest.ts";

/** `POST /v1/chat/completions` */
const postChatCompletions = createCompletionRoute(chatRequest, CHAT_FORMAT);

/** `POST /v1/completions` */
const postCompletions = createCompletionRoute(completionRequest, COMPLETION_FORMAT);

/** `GET /v1/models` */
const getModels: ServeRoute = ({ models }, { response }) => {
  const data = models.names().map(({ name, served }) => asModel(name, served));
  sendJson(response, 200, { object: "list", data });
};

/** `GET /v1/models/{path}` */
const getModel: ServeRoute = ({ models }, { response }, path) => {
  const requested = decodeURIComponent(path);
  const match = models.names().find(({ name }) => name === requested);
  if (match) return sendJson(response, 200, asModel(match.name, match.served));
  const message = "There is no model of this name. Choose one that GET /v1/models lists.";
  sendApiError(response, new ApiError(404, message, { param: "model", code: "model_not_found" }));
};

function asModel(id: string, { created }: ServedModel) {
  return { id, object: "model", created, owned_by: "kit" };
}

/** `POST /v1/responses` */
const postResponses = createCompletionRoute(responseRequest, RESPONSE_FORMAT);

/** `GET /v1/responses/{id}` and the like. */
const noResponse = refuse(
  "kit serve stores no responses. Keep them yourself, and send the whole conversation to POST /v1/responses as input.",
);

/** `POST /v1/responses/input_tokens` */
const postInputTokens = refuse(
  "kit serve counts no tokens in advance. Read usage.input_tokens of a response.",
);

/** `POST /v1/responses/compact` */
const postCompact = refuse(
  "kit serve compacts no conversations. Send fewer items to POST /v1/responses as input.",
);

/** `POST /v1/embeddings` */
const postEmbeddings = refuse(
  "kit serve computes no embeddings: its models continue texts. Use an embedding model, such as with llama-server --embeddings.",
);

function refuse(message: string): ServeRoute {
  return (_, { request, response }) => {
    request.resume();
    sendApiError(response, new ApiError(404, message));
  };
}

/** `GET /health`: 200 while it takes requests. */
const getHealth: ServeRoute = ({ isReady, isClosing }, { response }) => {
  if (isClosing()) return sendJson(response, 503, { status: "closing" });
  if (isReady()) return sendJson(response, 200, { status: "ok" });
  sendJson(response, 503, { status: "loading" });
};

/** By method and path. */
export const ROUTE_TABLE: Record<string, ServeRoute> = {
  "GET /health": getHealth,
  "GET /v1/models": getModels,
  "GET /v1/models/{path}": getModel,
  // Monitors send HEAD.
  "HEAD /health": getHealth,
  "HEAD /v1/models": getModels,
  "HEAD /v1/models/{path}": getModel,
  "POST /v1/chat/completions": postChatCompletions,
  "POST /v1/completions": postCompletions,
  "POST /v1/embeddings": postEmbeddings,
  "POST /v1/responses": postResponses,
  "POST /v1/responses/compact": postCompact,
  "POST /v1/responses/input_tokens": postInputTokens,
  "DELETE /v1/responses/{path}": noResponse,
  "GET /v1/responses/{path}": noResponse,
  "POST /v1/responses/{path}": noResponse,
  ...FILE_ROUTES,
  ...JOB_ROUTES,
};
