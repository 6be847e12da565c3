import { randomInt } from "node:crypto";
import { type InferRequest, SAMPLING } from "../../protocol/infer.ts";
import { omitUndefined } from "../../protocol/isRecord.ts";
import { invalid } from "./apiError.ts";
import { type Body, type NumberRange, fieldOf, numberOf, pathIn } from "./fields.ts";

/** OpenAI's limit. */
const MAX_TEMPERATURE = 2;
const TEMPERATURE: NumberRange = {
  expected: `a number from 0 to ${MAX_TEMPERATURE}`,
  accepts: (value) => SAMPLING.temperature.accepts(value) && value <= MAX_TEMPERATURE,
};
const MAX_STOPS = 16;
/** In UTF-16 units. */
const MAX_STOP_LENGTH = 1000;
const SEED_COUNT = 2 ** 32;

/** OpenAI's names of the token limit. */
const LIMIT_FIELDS = ["max_output_tokens", "max_completion_tokens", "max_tokens"];

type Sampling = Pick<InferRequest, "maxTokens" | "temperature" | "topP" | "seed" | "stop">;

/**
 * The sampling fields of all kinds of answers.
 * @throws ApiError 400 for an invalid value
 */
export function samplingOf(body: Body): Sampling {
  const temperature = numberOf(body, "temperature", TEMPERATURE);
  const seed =
    numberOf(body, "seed", SAMPLING.seed) ?? (temperature ? randomInt(SEED_COUNT) : undefined);
  return omitUndefined({
    maxTokens: maxTokensOf(body),
    temperature,
    topP: numberOf(body, "top_p", SAMPLING.topP),
    seed,
    stop: stopOf(body),
  });
}

function maxTokensOf(body: Body): number | undefined {
  const limits = LIMIT_FIELDS.flatMap((field) => {
    const limit = numberOf(body, field, SAMPLING.maxTokens);
    return limit === undefined ? [] : [{ field, limit }];
  });
  const [first, ...others] = limits;
  const second = others.find(({ limit }) => limit !== first?.limit);
  if (second) throw invalid(second.field, `Send ${first?.field} or ${second.field}, not both.`);
  return first?.limit;
}

function stopOf(body: Body): readonly string[] | undefined {
  const stop = fieldOf(body, "stop");
  if (stop === undefined) return undefined;
  const all: unknown[] = Array.isArray(stop) ? stop : [stop];
  if (all.length > MAX_STOPS || !all.every(isStop)) {
    throw invalid(
      pathIn("stop", stop, isStop),
      `stop must be a string of 1 to ${MAX_STOP_LENGTH} characters, or an array of at most ${MAX_STOPS} such strings.`,
    );
  }
  return all.length > 0 ? all : undefined;
}

function isStop(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= MAX_STOP_LENGTH;
}
