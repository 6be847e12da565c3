import { isRecord } from "../../protocol/isRecord.ts";
import type { Config, Rope } from "./dimensions.ts";

/** What a config means by a key that it leaves out. */
const DEFAULT_THETA = 10_000;

/**
 * `rope_parameters` of transformers 5, or `rope_theta` and `rope_scaling` of 4.
 * @param refuse makes the error for a problem, which follows the file's path
 */
export function readRope(
  config: Config,
  refuse: (problem: string) => Error,
  usualTheta = DEFAULT_THETA,
): Rope {
  const { rope_parameters: parameters, rope_scaling: scaling, rope_theta: theta } = config;
  const given: Config = isRecord(parameters) ? parameters : isRecord(scaling) ? scaling : {};
  const type = given["rope_type"] ?? given["type"] ?? "default";
  const positive = (key: string, value = given[key]): number => {
    if (Number.isFinite(value) && (value as number) > 0) return value as number;
    throw refuse(
      `needs a positive number as ${key}, not ${JSON.stringify(value)}. Save or download it again.`,
    );
  };
  if (Object.values(given).some(isRecord)) {
    throw refuse("has rope parameters of its own for kinds of layers. Use a model with one rope.");
  }
  const base = positive("rope_theta", given["rope_theta"] ?? theta ?? usualTheta);
  if ((config["partial_rotary_factor"] ?? given["partial_rotary_factor"] ?? 1) !== 1) {
    throw refuse("uses partial rotary embeddings. Use a model without partial_rotary_factor.");
  }
  switch (type) {
    case "default":
      return { type: "default", theta: base };
    case "linear":
      return { type: "linear", theta: base, factor: positive("factor") };
    case "llama3":
      return {
        ...{ type: "llama3", theta: base, factor: positive("factor") },
        lowFreqFactor: positive("low_freq_factor"),
        highFreqFactor: positive("high_freq_factor"),
        originalContext: positive("original_max_position_embeddings"),
      };
    default:
      throw refuse(
        `uses rope type ${JSON.stringify(type)}. Use a model with type default, linear or llama3.`,
      );
  }
}
