import { invalid } from "./apiError.ts";
import { type Asked, deliveryOf } from "./asked.ts";
import { type Body, type NumberRange, fieldOf, numberOf } from "./fields.ts";
import { heldAnswer } from "./heldAnswer.ts";
import { defined, samplingOf } from "./sampling.ts";

const MOST_TOP = 5;
const MOST_PROMPTS = 1000;
const TOP: NumberRange = {
  expected: `a whole number from 0 to ${MOST_TOP}`,
  holds: (value) => Number.isInteger(value) && value >= 0 && value <= MOST_TOP,
};

/**
 * Reads the body of a plain completion.
 * @throws ApiError 400 naming the field that is wrong
 */
export function completionRequest(body: Body): Asked {
  const delivery = deliveryOf(body);
  const { form, names } = heldAnswer(body);
  const logprobs = numberOf(body, "logprobs", TOP);
  const requests = promptsOf(body).map((prompt) => ({
    ...{ prompt, raw: true, ...samplingOf(body) },
    ...{ ...form, ...defined({ logprobs }) },
  }));
  return { ...delivery, names, requests };
}

function promptsOf(body: Body): string[] {
  const given = fieldOf(body, "prompt");
  const prompts: unknown[] = Array.isArray(given) ? given : [given];
  const isRight = prompts.length > 0 && prompts.length <= MOST_PROMPTS;
  if (isRight && prompts.every((one) => typeof one === "string")) return prompts;
  throw invalid(
    "prompt",
    `prompt must be a string, or a list of 1 to ${MOST_PROMPTS} strings. Send texts, not tokens.`,
  );
}
