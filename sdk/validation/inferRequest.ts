import { inspect } from "node:util";
import { asMessage, asTools } from "../../protocol/chat.ts";
import { problemOfKwargs, problemOfMessage, problemOfTools } from "../../protocol/chatFaults.ts";
import { didYouMean } from "../../protocol/didYouMean.ts";
import { KitError } from "../../protocol/error.ts";
import { type InferRequest, SAMPLING } from "../../protocol/infer.ts";
import { problemOfAnswer } from "./answerOptions.ts";
import { asJsonSchema } from "./answerSchema.ts";

const OPTIONS = Object.keys({
  messages: true,
  tools: true,
  prompt: true,
  raw: true,
  maxTokens: true,
  temperature: true,
  topP: true,
  seed: true,
  stop: true,
  choices: true,
  schema: true,
  pattern: true,
  toolChoice: true,
  parallelToolCalls: true,
  logprobs: true,
  chatTemplateKwargs: true,
  lenient: true,
  signal: true,
} satisfies Record<keyof InferRequest, true>);

/**
 * Validates an `infer` request. Returns messages in chat template form and the schema as JSON Schema.
 * @throws KitError `REQUEST_INVALID`
 */
export async function checkRequest(request: unknown): Promise<InferRequest> {
  if (typeof request !== "object" || request === null) {
    throw problem(`pass { prompt } or { messages }, not ${inspect(request)}`);
  }
  const unknown = Object.keys(request).find((key) => !OPTIONS.includes(key));
  if (unknown !== undefined) {
    throw new KitError(
      "REQUEST_INVALID",
      `infer: unknown option "${unknown}".${didYouMean(unknown, OPTIONS)} It takes ${OPTIONS.join(", ")}.`,
    );
  }
  const { messages, tools, prompt, signal, ...numbers } = request as Record<string, unknown>;
  if (messages !== undefined && prompt !== undefined) {
    throw problem("pass messages or a prompt, not both");
  }
  const isList = Array.isArray(messages) && messages.length > 0;
  if (!(messages !== undefined ? isList : typeof prompt === "string")) {
    throw problem("pass messages (an array of { role, content }) or a prompt (a string)");
  }
  for (const [i, message] of Array.isArray(messages) ? messages.entries() : []) {
    const wrong = problemOfMessage(message);
    if (wrong !== undefined) throw problem(`messages[${i}] ${wrong}`);
  }
  const wrongTools = problemOfTools({ tools });
  if (wrongTools !== undefined) throw problem(wrongTools);
  if (tools !== undefined && messages === undefined) {
    throw problem("tools need messages, not a prompt");
  }
  if (
    numbers["raw"] !== undefined &&
    (messages !== undefined || typeof numbers["raw"] !== "boolean")
  ) {
    throw problem("raw must be true or false, and needs a prompt");
  }
  for (const [name, { expected, accepts }] of Object.entries(SAMPLING)) {
    const value = numbers[name];
    if (value === undefined || (typeof value === "number" && accepts(value))) continue;
    throw problem(`${name} must be ${expected}`);
  }
  if (!["undefined", "boolean"].includes(typeof numbers["lenient"])) {
    throw problem("lenient must be true or false", "lenient");
  }
  const wrongKwargs = problemOfKwargs(numbers["chatTemplateKwargs"]);
  if (wrongKwargs !== undefined) {
    throw problem(`chatTemplateKwargs ${wrongKwargs}`, "chatTemplateKwargs");
  }
  const wrongAnswer = problemOfAnswer(request as Record<string, unknown>);
  if (wrongAnswer !== undefined) throw problem(...wrongAnswer);
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw problem("signal must be an AbortSignal");
  }
  const { messages: read, tools: _, schema, ...others } = request as InferRequest;
  const constraint = schema !== undefined && { schema: await asJsonSchema(schema) };
  if (read === undefined) return { ...others, ...constraint } as InferRequest;
  const known = asTools(tools);
  return {
    ...others,
    ...constraint,
    messages: read.map(asMessage),
    ...(known && { tools: known }),
  } as InferRequest;
}

function problem(text: string, option?: string): KitError {
  const fault = option === undefined ? undefined : { option };
  return new KitError("REQUEST_INVALID", `infer: ${text}.`, { fault });
}
