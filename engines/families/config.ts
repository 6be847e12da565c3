import { KitError } from "../../protocol/error.ts";
import { formatCount } from "../../protocol/format.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { type Config } from "../modelFiles/configFile.ts";
import { type Dimensions, MAX_LAYERS } from "./dimensions.ts";
import { FAMILIES, familyNamed } from "./families.ts";
import { type Family, ACTIVATION } from "./family.ts";
import { llamaBiases } from "./llama.ts";
import { readRope } from "./rope.ts";
import { LLAMA_SLIDING, slidingLayers } from "./slidingLayers.ts";

/** Default of `transformers` 4, which it omits from a config. */
const DEFAULT_EPSILON = 1e-6;

/**
 * The model in a `config.json` of `transformers` 4 or 5. Its tensors may still reveal an untied head or fewer biases.
 * @param path of the file, for errors
 * @throws KitError `CHECKPOINT_INVALID` for an unsupported model or impossible sizes
 */
export function configShape(path: string, config: Config): Dimensions {
  const refuse = (problem: string) => new KitError("CHECKPOINT_INVALID", `${path} ${problem}`);
  const need = (kind: string, key: string, value: unknown) =>
    refuse(`needs ${kind} as ${key}, not ${JSON.stringify(value)}. Save or download it again.`);
  const whole = (key: string, value = config[key]): number => {
    if (Number.isSafeInteger(value) && (value as number) > 0) return value as number;
    throw need("a positive whole number", key, value);
  };
  const positive = (key: string, value: unknown): number => {
    if (Number.isFinite(value) && (value as number) > 0) return value as number;
    throw need("a positive number", key, value);
  };
  const flag = (key: string, value: unknown): boolean => {
    if (typeof value === "boolean") return value;
    throw need("true or false", key, value);
  };

  const unsupported = unsupportedKind(config, path);
  if (unsupported !== undefined) throw refuse(unsupported);
  const name = String(config["model_type"]);
  const { defaults, read, hasSlidingLayers, ...family }: Family = familyNamed(name)!;
  const [width, heads] = [whole("hidden_size"), whole("num_attention_heads")];
  const { num_key_value_heads: ownKvHeads = defaults?.kvHeads } = config;
  const kvHeads = whole("num_key_value_heads", ownKvHeads ?? heads);
  const headDim = whole("head_dim", config["head_dim"] ?? defaults?.headDim ?? width / heads);
  if (heads % kvHeads !== 0 || headDim % 2 !== 0) {
    throw refuse(
      `has ${heads} attention heads of size ${headDim} and ${kvHeads} key-value heads, which is impossible. Save or download it again.`,
    );
  }
  const layers = whole("num_hidden_layers");
  if (layers > MAX_LAYERS) {
    throw refuse(
      `needs at most ${formatCount(MAX_LAYERS)} as num_hidden_layers, not ${formatCount(layers)}. Use a smaller model.`,
    );
  }
  const context = whole("max_position_embeddings");
  const own = read?.(config, refuse) ?? {};
  const { sliding: rule = LLAMA_SLIDING } = family;
  const sliding = hasSlidingLayers ? undefined : slidingLayers(config, rule, refuse, own);
  if (sliding && sliding.window < context) {
    throw refuse(
      `attends only to the last ${sliding.window} tokens. Use a model without an active sliding_window.`,
    );
  }
  return {
    layers,
    width,
    heads,
    kvHeads,
    headDim,
    queryScalar: headDim,
    context,
    intermediateSize: whole("intermediate_size"),
    vocabulary: whole("vocab_size"),
    tied: flag(TIED, config[TIED] ?? defaults?.tied ?? false),
    epsilon: positive("rms_norm_eps", config["rms_norm_eps"] ?? DEFAULT_EPSILON),
    rope: own.rope ?? readRope(config, refuse, defaults?.theta),
    biases: (family.biases ?? llamaBiases)(config),
    family: name,
    noRopeLayers: [],
    sliding: undefined,
    ...own,
  };
}

/** Config key: whether the head shares the embedding's weights. */
export const TIED = "tie_word_embeddings";

/** Why a model is unsupported, and what to use instead; undefined if it is supported. */
function unsupportedKind(config: Config, path: string): string | undefined {
  const { model_type: type, architectures } = config;
  if (isRecord(config["vision_config"]))
    return "reads images, too. Use a model of text alone, such as google/gemma-3-1b-it.";
  const [named] = Array.isArray(architectures) ? (architectures as unknown[]) : [];
  const family = familyNamed(type);
  if (!family || !matchesArchitecture(named, family)) {
    const readable = Object.values(FAMILIES).map(({ architecture }) => architecture);
    const isReadable = readable.some((name) => name === named);
    const found = textOf(isReadable ? undefined : named) ?? textOf(type);
    const problem = found === undefined ? "names no model_type" : `is ${found}`;
    return `${problem}. Use one of ${readable.join(", ")}.`;
  }
  const quantized = QUANTIZATIONS.find((key) => isRecord(config[key]));
  if (quantized !== undefined) {
    const { quant_method: method } = config[quantized] as Config;
    const kind = textOf(method) ?? (quantized === MLX ? "by MLX" : "in some way");
    // Merging into 16-bit weights often leaves the key behind.
    const merged =
      method === "bitsandbytes"
        ? `; if these are, as after a merge, remove ${quantized} there`
        : "";
    const original = originalOf(path, config);
    if (original !== undefined) {
      return `is quantized (${kind}). Use ${original}, which it was made of; an adapter names it as base_model_name_or_path.`;
    }
    return `is quantized (${kind}). Use the model's weights in bfloat16, float16 or float32${merged}.`;
  }
  if (!(config["is_causal"] ?? true))
    return "attends to tokens that follow. Use a model that writes text.";
  const { per_layer_config: perLayer } = config;
  if (isRecord(perLayer) && Object.keys(perLayer).length > 0)
    return "configures single layers (per_layer_config). Use a model whose layers are alike.";
  const { key, names } = family.activation ?? ACTIVATION;
  const { [key]: activation = names[0] } = config;
  if (names.some((one) => one === activation)) return undefined;
  return `has the activation ${JSON.stringify(activation)}. Use a model with ${names[0]}.`;
}

/** The original of a model that Unsloth or others quantized, from its name on the hub. */
function originalOf(path: string, { _name_or_path: name }: Config): string | undefined {
  const [, cached] = /models--([^/\\]+)-bnb-4bit[/\\]/.exec(path) ?? [];
  const [, named] = /^([\w-]+\/[\w.-]+)-bnb-4bit$/.exec(String(name)) ?? [];
  return (cached?.replace("--", "/") ?? named)?.replace(/-unsloth$/, "");
}

const MLX = "quantization";
const QUANTIZATIONS = ["quantization_config", "compression_config", MLX];

/** Whether an architecture is the family's, or the same without a head. */
function matchesArchitecture(named: unknown, { architecture }: Family): boolean {
  const model = architecture.replace(/ForCausalLM$/, "Model");
  return [undefined, architecture, model, model.replace(/Model$/, "TextModel")].includes(
    named as string | undefined,
  );
}

/** A name as it is, other text quoted, because it may contain terminal escapes. */
function textOf(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  return /^[\w.-]+$/.test(value) ? value : JSON.stringify(value);
}
