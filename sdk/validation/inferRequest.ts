import { inspect } from "node:util";
import { KitError } from "../../protocol/error.ts";
import { type InferRequest, isChatMessage } from "../../protocol/infer.ts";
import { SAMPLING } from "../../protocol/sampling.ts";
import { didYouMean } from "./didYouMean.ts";

const OPTIONS = Object.keys({
  messages: true,
  prompt: true,
  maxTokens: true,
  temperature: true,
  topP: true,
  seed: true,
  signal: true,
} satisfies Record<keyof InferRequest, true>);

/**
 * Checks a request that a program passed to `infer`.
 * @throws KitError `REQUEST_INVALID`
 */
export function assertRequest(request: unknown): asserts request is InferRequest {
  if (typeof request !== "object" || request === null) {
    throw problem(`takes { prompt } or { messages }, not ${inspect(request)}`);
  }
  const unknown = Object.keys(request).find((key) => !OPTIONS.includes(key));
  if (unknown !== undefined) {
    throw new KitError(
      "REQUEST_INVALID",
      `infer: unknown option "${unknown}".${didYouMean(unknown, OPTIONS)} It takes ${OPTIONS.join(", ")}.`,
    );
  }
  const { messages, prompt, signal, ...numbers } = request as Record<string, unknown>;
  if (messages !== undefined && prompt !== undefined) {
    throw problem("takes messages or a prompt, not both");
  }
  const isConversation =
    Array.isArray(messages) && messages.length > 0 && messages.every(isChatMessage);
  if (!(messages !== undefined ? isConversation : typeof prompt === "string")) {
    throw problem(
      'needs messages or a prompt: a list of { role: "system", "user" or "assistant", content: a string }, or a string',
    );
  }
  for (const [name, { expected, holds }] of Object.entries(SAMPLING)) {
    const value = numbers[name];
    if (value === undefined || (typeof value === "number" && holds(value))) continue;
    throw problem(`needs ${expected} as its ${name}`);
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw problem("needs an AbortSignal as its signal");
  }
}

function problem(text: string): KitError {
  return new KitError("REQUEST_INVALID", `infer ${text}.`);
}
