import { createAnswer } from "../answer.ts";
import { CHAT_FORM } from "../chatForm.ts";
import { chatRequest } from "../chatRequest.ts";
import { COMPLETION_FORM } from "../completionForm.ts";
import { completionRequest } from "../completionRequest.ts";
import type { ServeRoute } from "../context.ts";

/** `POST /v1/chat/completions` */
export const postChatCompletions: ServeRoute = createAnswer(chatRequest, CHAT_FORM);

/** `POST /v1/completions` */
export const postCompletions: ServeRoute = createAnswer(completionRequest, COMPLETION_FORM);
