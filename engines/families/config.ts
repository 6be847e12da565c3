import { KitError } from "../../protocol/error.ts";
import { formatCount } from "../../protocol/format.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { type Config, type Dimensions, MOST_LAYERS } from "./dimensions.ts";
import { FAMILIES, familyNamed } from "./families.ts";
import { type Family, ACTIVATION } from "./family.ts";
import { readRope } from "./rope.ts";

/** What `transformers` 4 leaves out of a config. */
const DEFAULT_EPSILON = 1e-6;

/**
 * The model that a `config.json` of `transformers` 4 or 5 describes, but for what only its tensors
 * show: biases.
 * @param path of the file, for errors
 * @throws KitError `CHECKPOINT_INVALID` for another kind of model, or sizes that none can have
 */
export function configShape(path: string, config: Config): Omit<Dimensions, "biases"> {
  const refuse = (problem: string) => new KitError("CHECKPOINT_INVALID", `${path} ${problem}`);
  const whole = (key: string, value = config[key]): number => {
    if (Number.isSafeInteger(value) && (value as number) > 0) return value as number;
    throw refuse(
      `needs a positive whole number as ${key}, not ${JSON.stringify(value)}. Save or download it again.`,
    );
  };
  const positive = (key: string, value: unknown): number => {
    if (Number.isFinite(value) && (value as number) > 0) return value as number;
    throw refuse(
      `needs a positive number as ${key}, not ${JSON.stringify(value)}. Save or download it again.`,
    );
  };

  const unsupported = unsupportedKind(config);
  if (unsupported !== undefined) throw refuse(unsupported);
  const name = String(config["model_type"]);
  const { defaults, read }: Family = familyNamed(name)!;
  const [width, heads] = [whole("hidden_size"), whole("num_attention_heads")];
  const kvHeads = whole("num_key_value_heads", config["num_key_value_heads"] ?? heads);
  const headDim = whole("head_dim", config["head_dim"] ?? defaults?.headDim ?? width / heads);
  if (heads % kvHeads !== 0 || headDim % 2 !== 0) {
    throw refuse(
      `has ${heads} attention heads of size ${headDim} and ${kvHeads} key-value heads, which is impossible. Save or download it again.`,
    );
  }
  const layers = whole("num_hidden_layers");
  if (layers > MOST_LAYERS) {
    throw refuse(
      `needs at most ${formatCount(MOST_LAYERS)} as num_hidden_layers, not ${formatCount(layers)}. Use a smaller model.`,
    );
  }
  const own = read?.(config, refuse) ?? {};
  return {
    layers,
    ...{ width, heads, kvHeads, headDim, queryScalar: headDim },
    context: whole("max_position_embeddings"),
    intermediateSize: whole("intermediate_size"),
    vocabulary: whole("vocab_size"),
    tied: (config["tie_word_embeddings"] ?? defaults?.tied) === true,
    epsilon: positive("rms_norm_eps", config["rms_norm_eps"] ?? DEFAULT_EPSILON),
    rope: own.rope ?? readRope(config, refuse, defaults?.theta),
    ...{ family: name, unrotated: [], sliding: undefined, ...own },
  };
}

/** Why a kind of model is refused, and what would work; undefined if it can be read. */
function unsupportedKind(config: Config): string | undefined {
  const { model_type: type, architectures, quantization_config: quantized } = config;
  if (isRecord(config["vision_config"]))
    return "reads images, too. Use a model of text alone, such as google/gemma-3-1b-it.";
  const [named] = Array.isArray(architectures) ? (architectures as unknown[]) : [];
  const family = familyNamed(type);
  if (!family || (named !== undefined && named !== family.architecture)) {
    const readable = Object.values(FAMILIES).map(({ architecture }) => architecture);
    const isReadable = readable.some((name) => name === named);
    const found = textOf(isReadable ? undefined : named) ?? textOf(type);
    const problem = found === undefined ? "names no model_type" : `is ${found}`;
    return `${problem}. Use one of ${readable.join(", ")}.`;
  }
  if (isRecord(quantized)) {
    return `is quantised (${textOf(quantized["quant_method"]) ?? "in some way"}). Use the model's weights in bfloat16, float16 or float32.`;
  }
  const { key, name } = family.activation ?? ACTIVATION;
  const { [key]: activation = name } = config;
  if (activation !== name)
    return `has the activation ${JSON.stringify(activation)}. Use a model with ${name}.`;
  const window = slidingWindow(config, family);
  if (window === undefined) return undefined;
  return `attends only to the last ${window} tokens. Use a model without an active sliding_window.`;
}

/** A name as it is, any other text quoted: it may have been made to deceive a terminal. */
function textOf(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  return /^[\w.-]+$/.test(value) ? value : JSON.stringify(value);
}

/** Tokens that a layer sees at most, where fewer than the context. */
function slidingWindow(config: Config, { defaults, hasSlidingLayers }: Family) {
  if (hasSlidingLayers) return undefined;
  const { layer_types: types, use_sliding_window: used } = config;
  const { sliding_window: window = defaults?.slidingWindow } = config;
  if (typeof window !== "number" || used === false) return undefined;
  if (Array.isArray(types) && types.every((type) => type === "full_attention")) return undefined;
  return window < Number(config["max_position_embeddings"]) ? window : undefined;
}
