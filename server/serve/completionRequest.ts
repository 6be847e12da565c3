import { invalid } from "./apiError.ts";
import { type Asked, deliveryOf } from "./asked.ts";
import { type Body, type NumberRange, fieldOf, numberOf, refuseUnlessNeutral } from "./fields.ts";
import { defined, samplingOf } from "./sampling.ts";

const MOST_TOP = 5;
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
  refuseUnlessNeutral(
    body,
    "echo",
    (echo) => echo === false,
    "Send false, and add the prompt to the answer yourself.",
  );
  refuseUnlessNeutral(body, "suffix", (suffix) => suffix === "", "Send none.");
  refuseUnlessNeutral(body, "best_of", (count) => count === 1, "Leave it out, or send 1.");
  const logprobs = numberOf(body, "logprobs", TOP);
  return {
    ...delivery,
    request: { prompt: promptOf(body), ...samplingOf(body), ...defined({ logprobs }) },
    hasOneCall: false,
  };
}

function promptOf(body: Body): string {
  const given = fieldOf(body, "prompt");
  const prompt: unknown = Array.isArray(given) && given.length === 1 ? given[0] : given;
  if (typeof prompt === "string") return prompt;
  throw invalid("prompt", "prompt must be a string. Send one request for each prompt.");
}
