import { isRecord } from "../../protocol/isRecord.ts";
import type { Config } from "../modelFiles/configFile.ts";
import type { Rope } from "./dimensions.ts";
import type { Refuse } from "./family.ts";

/** Default of a missing key. */
const DEFAULT_THETA = 10_000;

/**
 * Reads `rope_parameters` of transformers 5, or `rope_theta` and `rope_scaling` of 4. As in transformers 5,
 * `rope_scaling` overrides `rope_parameters`.
 */
export function readRope(config: Config, refuse: Refuse, defaultTheta = DEFAULT_THETA): Rope {
  const given = ropeOf(config, refuse, defaultTheta);
  const { partial_rotary_factor: partial = 1, rope_theta: theta = defaultTheta } = config;
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
  const base = positive("rope_theta", given["rope_theta"] ?? theta ?? defaultTheta);
  if ((partial ?? 1) !== 1 || (given["partial_rotary_factor"] ?? 1) !== 1) {
    throw refuse("uses partial rotary embeddings. Use a model without partial_rotary_factor.");
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
        originalContext: positive(ORIGINAL, originalContext(config, given)),
      };
    default:
      throw refuse(
        `uses rope type ${JSON.stringify(type)}. Use a model with type default, linear or llama3.`,
      );
  }
}

function ropeOf(config: Config, refuse: Refuse, defaultTheta: number): Config {
  const { rope_parameters: parameters, rope_scaling: scaling, rope_theta: theta } = config;
  const beside = isRecord(parameters) ? parameters : {};
  if (!isRecord(scaling) || Object.keys(scaling).length === 0) return beside;
  const { rope_theta: lost } = beside;
  const isKept = (scaling["rope_theta"] ?? theta) !== undefined || lost === defaultTheta;
  if (lost === undefined || isKept) return scaling;
  throw refuse(
    `has rope_scaling, which overrides its rope_parameters and lacks their rope_theta of ${JSON.stringify(lost)}. Write rope_theta into rope_scaling.`,
  );
}

const ORIGINAL = "original_max_position_embeddings";

/** The config's own key takes precedence; the whole context is the fallback. */
function originalContext(config: Config, given: Config): unknown {
  return config[ORIGINAL] ?? given[ORIGINAL] ?? config["max_position_embeddings"];
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
  const own = Float32Array.from({ length: headDim / 2 }, (_, i) => {
    const power = Math.fround(rope.theta ** Math.fround((2 * i) / headDim));
    return 1 / power;
  });
  switch (rope.type) {
    case "default":
      return own;
    case "linear":
      return own.map((frequency) => frequency / rope.factor);
    case "llama3":
      return own.map((frequency) => stretched(frequency, rope));
  }
}

/** Llama 3's scaling: stretches long wavelengths by the factor, keeps short ones, blends those between. */
function stretched(frequency: number, rope: Extract<Rope, { type: "llama3" }>): number {
  const { factor, lowFreqFactor: low, highFreqFactor: high, originalContext } = rope;
  const rotations = originalContext / ((2 * Math.PI) / frequency);
  if (rotations < low) return frequency / factor;
  if (rotations > high) return frequency;
  const share = (rotations - low) / (high - low);
  return ((1 - share) * frequency) / factor + share * frequency;
}
