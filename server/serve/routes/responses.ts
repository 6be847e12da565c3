import { ApiError, sendApiError } from "../apiError.ts";
import type { ServeRoute } from "../context.ts";

/** `POST /v1/responses`, which newer clients of OpenAI try first. */
export const postResponses: ServeRoute = (_, { request, response }) => {
  request.resume();
  const message =
    "kit serve has no responses API. Use chat completions: POST /v1/chat/completions, in the openai package client.chat.completions.create().";
  sendApiError(response, new ApiError(404, message));
};
