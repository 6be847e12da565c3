import type { ServeRoute } from "./context.ts";
import { postChatCompletions, postCompletions } from "./routes/completions.ts";
import { getHealth } from "./routes/health.ts";
import { getModel, getModels } from "./routes/models.ts";
import { postResponses } from "./routes/responses.ts";

/** By method and path. */
export const ROUTE_TABLE: Record<string, ServeRoute> = {
  "GET /health": getHealth,
  "GET /v1/models": getModels,
  "GET /v1/models/{path}": getModel,
  // As monitors ask.
  "HEAD /health": getHealth,
  "HEAD /v1/models": getModels,
  "HEAD /v1/models/{path}": getModel,
  "POST /v1/chat/completions": postChatCompletions,
  "POST /v1/completions": postCompletions,
  "POST /v1/responses": postResponses,
};
