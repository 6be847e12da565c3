import { inspect } from "node:util";
import { KitError } from "../protocol/error.ts";
import { type InferRequest, isChatMessage } from "../protocol/infer.ts";

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
  const { temperature = 0, topP = 1, seed = 0, ...rest } = request as Record<string, unknown>;
  const unknown = Object.keys(rest).find((key) => !OPTIONS.includes(key));
  if (unknown !== undefined) {
    throw new KitError(
      "REQUEST_INVALID",
      `infer: unknown option "${unknown}". It takes ${OPTIONS.join(", ")}.`,
    );
  }
  const { messages, prompt, maxTokens, signal } = rest;
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
  if (!isFinite(temperature) || temperature < 0) throw problem("needs a temperature of 0 or more");
  if (!isFinite(topP) || topP <= 0 || topP > 1) throw problem("needs a topP above 0 and at most 1");
  if (!isFinite(seed)) throw problem("needs a finite number as seed");
  if (maxTokens !== undefined && !(Number.isSafeInteger(maxTokens) && Number(maxTokens) > 0)) {
    throw problem("needs a positive whole number as maxTokens");
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw problem("needs an AbortSignal as its signal");
  }
}

function isFinite(value: unknown): value is number {
  return Number.isFinite(value);
}

function problem(text: string): KitError {
  return new KitError("REQUEST_INVALID", `infer ${text}.`);
}
