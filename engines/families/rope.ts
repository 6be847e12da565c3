import { isRecord } from "../../protocol/isRecord.ts";
import type { Config } from "../modelFiles/configFile.ts";
import type { Rope } from "./dimensions.ts";
import type { InvalidConfig } from "./family.ts";

/** RoPE's base if the config has none. */
const DEFAULT_THETA = 10_000;

/**
 * Reads `rope_parameters` of transformers 5, or `rope_theta` and `rope_scaling` of 4. As in transformers 5,
 * `rope_scaling` overrides `rope_parameters`.
 */
export function readRope(
  config: Config,
  invalid: InvalidConfig,
  defaultTheta = DEFAULT_THETA,
): Rope {
  const parameters = ropeParameters(config, invalid, defaultTheta);
  const { partial_rotary_factor: partial = 1, rope_theta: theta = defaultTheta } = config;
  const type = parameters["rope_type"] ?? parameters["type"] ?? "default";
  const positive = (key: string, value = parameters[key]): number => {
    if (Number.isFinite(value) && (value as number) > 0) return value as number;
    throw invalid(
      `needs a positive number as ${key}, not ${JSON.stringify(value)}. Save or download it again.`,
    );
  };
  if (Object.values(parameters).some(isRecord)) {
    throw invalid("has several sets of RoPE parameters. Use a model with a single one.");
  }
  const base = positive("rope_theta", parameters["rope_theta"] ?? theta ?? defaultTheta);
  if ((partial ?? 1) !== 1 || (parameters["partial_rotary_factor"] ?? 1) !== 1) {
    throw invalid("uses partial rotary embeddings. Use a model without partial_rotary_factor.");
  }
  switch (type) {
    case "default":
      return { type: "default", theta: base };
    case "linear":
      return { type: "linear", theta: base, factor: positive("factor") };
    case "llama3":
      return {
        type: "llama3",
        theta: base,
        factor: positive("factor"),
        lowFreqFactor: positive("low_freq_factor"),
        highFreqFactor: positive("high_freq_factor"),
        originalContext: positive(ORIGINAL_CONTEXT, originalContext(config, parameters)),
      };
    default:
      throw invalid(
        `uses rope type ${JSON.stringify(type)}. Use a model with type default, linear or llama3.`,
      );
  }
}

function ropeParameters(config: Config, invalid: InvalidConfig, defaultTheta: number): Config {
  const { rope_parameters: parameters, rope_scaling: scaling, rope_theta: theta } = config;
  const overridden = isRecord(parameters) ? parameters : {};
  if (!isRecord(scaling) || Object.keys(scaling).length === 0) return overridden;
  const { rope_theta: lostTheta } = overridden;
  const hasTheta = (scaling["rope_theta"] ?? theta) !== undefined || lostTheta === defaultTheta;
  if (lostTheta === undefined || hasTheta) return scaling;
  throw invalid(
    `has rope_scaling, which overrides its rope_parameters and lacks their rope_theta of ${JSON.stringify(lostTheta)}. Write rope_theta into rope_scaling.`,
  );
}

const ORIGINAL_CONTEXT = "original_max_position_embeddings";

/** The key outside the RoPE parameters takes precedence. */
function originalContext(config: Config, parameters: Config): unknown {
  return (
    config[ORIGINAL_CONTEXT] ?? parameters[ORIGINAL_CONTEXT] ?? config["max_position_embeddings"]
  );
}

/**
 * RoPE's cosines and sines for `count` positions, each [count, headDim / 2], in Hugging Face's convention: dimension i
 * is paired with i + headDim/2. Rounded to float32 where `transformers` does, because models were trained that way.
 */
export function ropeTables(rope: Rope, headDim: number, count: number) {
  const half = headDim / 2;
  const frequencies = inverseFrequencies(headDim, rope);
  const cosines = new Float32Array(count * half);
  const sines = new Float32Array(count * half);
  for (let position = 0; position < count; position++) {
    frequencies.forEach((frequency, i) => {
      const angle = Math.fround(position * frequency);
      cosines[position * half + i] = Math.cos(angle);
      sines[position * half + i] = Math.sin(angle);
    });
  }
  return { cosines, sines };
}

/** Radians per position for each pair of dimensions, as in `modeling_rope_utils.py` of `transformers`. */
function inverseFrequencies(headDim: number, rope: Rope): Float32Array {
  const unscaled = Float32Array.from({ length: headDim / 2 }, (_, i) => {
    const power = Math.fround(rope.theta ** Math.fround((2 * i) / headDim));
    return 1 / power;
  });
  switch (rope.type) {
    case "default":
      return unscaled;
    case "linear":
      return unscaled.map((frequency) => frequency / rope.factor);
    case "llama3":
      return unscaled.map((frequency) => scaleAsLlama3(frequency, rope));
  }
}

/** Llama 3's scaling: stretches long wavelengths by the factor, keeps short ones and blends between the two. */
function scaleAsLlama3(frequency: number, rope: Extract<Rope, { type: "llama3" }>): number {
  const { factor, lowFreqFactor: low, highFreqFactor: high, originalContext } = rope;
  const rotations = originalContext / ((2 * Math.PI) / frequency);
  if (rotations < low) return frequency / factor;
  if (rotations > high) return frequency;
  const weight = (rotations - low) / (high - low);
  return ((1 - weight) * frequency) / factor + weight * frequency;
}
