import { KitError } from "../../protocol/error.ts";
import { formatCount } from "../../protocol/format.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import type { Config } from "../modelFiles/configFile.ts";
import { type Dimensions, MAX_LAYERS } from "./dimensions.ts";
import { FAMILIES, familyNamed } from "./families.ts";
import { type Family, ACTIVATION } from "./family.ts";
import { llamaBiases } from "./llama.ts";
import { readRope } from "./rope.ts";
import { LLAMA_SLIDING, slidingLayers } from "./slidingLayers.ts";

/** The default `rms_norm_eps`, which `transformers` 4 omits from a config. */
const DEFAULT_EPSILON = 1e-6;

/**
 * Reads a model's dimensions from a `config.json` of `transformers` 4 or 5. The tensors may still reveal an untied
 * head or fewer biases.
 * @param path of the file, for errors
 * @throws KitError `CHECKPOINT_INVALID` for an unsupported model or impossible sizes
 */
export function configShape(path: string, config: Config): Dimensions {
  const invalid = (problem: string) => new KitError("CHECKPOINT_INVALID", `${path} ${problem}`);
  const typeError = (kind: string, key: string, value: unknown) =>
    invalid(`needs ${kind} as ${key}, not ${JSON.stringify(value)}. Save or download it again.`);
  const integer = (key: string, value = config[key]): number => {
    if (Number.isSafeInteger(value) && (value as number) > 0) return value as number;
    throw typeError("a positive whole number", key, value);
  };
  const positive = (key: string, value: unknown): number => {
    if (Number.isFinite(value) && (value as number) > 0) return value as number;
    throw typeError("a positive number", key, value);
  };
  const boolean = (key: string, value: unknown): boolean => {
    if (typeof value === "boolean") return value;
    throw typeError("true or false", key, value);
  };

  const reason = unsupportedReason(config, path);
  if (reason !== undefined) throw invalid(reason);
  const name = String(config["model_type"]);
  const { defaults, read, hasSlidingLayers, ...family }: Family = familyNamed(name)!;
  const [width, heads] = [integer("hidden_size"), integer("num_attention_heads")];
  const { num_key_value_heads: givenKvHeads = defaults?.kvHeads } = config;
  const kvHeads = integer("num_key_value_heads", givenKvHeads ?? heads);
  const headDim = integer("head_dim", config["head_dim"] ?? defaults?.headDim ?? width / heads);
  if (heads % kvHeads !== 0 || headDim % 2 !== 0) {
    throw invalid(
      `has ${heads} attention heads of size ${headDim} and ${kvHeads} key-value heads, which is impossible. Save or download it again.`,
    );
  }
  const layers = integer("num_hidden_layers");
  if (layers > MAX_LAYERS) {
    throw invalid(
      `needs at most ${formatCount(MAX_LAYERS)} as num_hidden_layers, not ${formatCount(layers)}. Use a smaller model.`,
    );
  }
  const context = integer("max_position_embeddings");
  const fromFamily = read?.(config, invalid) ?? {};
  const { sliding: rule = LLAMA_SLIDING } = family;
  const sliding = hasSlidingLayers ? undefined : slidingLayers(config, rule, invalid, fromFamily);
  if (sliding && sliding.window < context) {
    throw invalid(
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
    intermediateSize: integer("intermediate_size"),
    vocabulary: integer("vocab_size"),
    tied: boolean(TIED, config[TIED] ?? defaults?.tied ?? false),
    epsilon: positive("rms_norm_eps", config["rms_norm_eps"] ?? DEFAULT_EPSILON),
    rope: fromFamily.rope ?? readRope(config, invalid, defaults?.theta),
    biases: (family.biases ?? llamaBiases)(config),
    family: name,
    noRopeLayers: [],
    sliding: undefined,
    ...fromFamily,
  };
}

/** The config key that says whether the head shares the embedding's weights. */
export const TIED = "tie_word_embeddings";

/** Why a model is unsupported, and what to use instead; undefined if it is supported. */
function unsupportedReason(config: Config, path: string): string | undefined {
  const { model_type: type, architectures } = config;
  if (isRecord(config["vision_config"]))
    return "also reads images. Use a text-only model, such as google/gemma-3-1b-it.";
  const [name] = Array.isArray(architectures) ? (architectures as unknown[]) : [];
  const family = familyNamed(type);
  if (!family || !matchesArchitecture(name, family)) {
    const supported = Object.values(FAMILIES).map(({ architecture }) => architecture);
    const isSupported = supported.some((architecture) => architecture === name);
    const found = quoteUnlessName(isSupported ? undefined : name) ?? quoteUnlessName(type);
    const problem = found === undefined ? "names no model_type" : `is ${found}`;
    return `${problem}. Use one of ${supported.join(", ")}.`;
  }
  const key = QUANTIZATION_KEYS.find((name) => isRecord(config[name]));
  if (key !== undefined) {
    const { quant_method: method } = config[key] as Config;
    const kind = quoteUnlessName(method) ?? (key === MLX_KEY ? "by MLX" : "unknown method");
    // Merging into 16-bit weights often leaves the key behind.
    const mergeHint =
      method === "bitsandbytes"
        ? `; if they already are, as after a merge, remove ${key} there`
        : "";
    const original = originalOf(path, config);
    if (original !== undefined) {
      return `is quantized (${kind}). Use the original, ${original}; in an adapter, name it as base_model_name_or_path.`;
    }
    return `is quantized (${kind}). Use the model's weights in bfloat16, float16 or float32${mergeHint}.`;
  }
  if (!(config["is_causal"] ?? true))
    return "attends to later tokens, too. Use a causal language model.";
  const { per_layer_config: layerConfigs } = config;
  if (isRecord(layerConfigs) && Object.keys(layerConfigs).length > 0)
    return "configures layers individually (per_layer_config). Use a model whose layers are alike.";
  const { key: activationKey, names } = family.activation ?? ACTIVATION;
  const { [activationKey]: activation = names[0] } = config;
  if (names.some((known) => known === activation)) return undefined;
  return `has the activation ${JSON.stringify(activation)}. Use a model with ${names[0]}.`;
}

/** Hub name of the original of a model that Unsloth or others quantized, derived from the quantized one's name. */
function originalOf(path: string, { _name_or_path: name }: Config): string | undefined {
  const [, cached] = /models--([^/\\]+)-bnb-4bit[/\\]/.exec(path) ?? [];
  const [, named] = /^([\w-]+\/[\w.-]+)-bnb-4bit$/.exec(String(name)) ?? [];
  return (cached?.replace("--", "/") ?? named)?.replace(/-unsloth$/, "");
}

const MLX_KEY = "quantization";
const QUANTIZATION_KEYS = ["quantization_config", "compression_config", MLX_KEY];

/** Whether an architecture is the family's, with or without its head. A missing one matches. */
function matchesArchitecture(name: unknown, { architecture }: Family): boolean {
  const model = architecture.replace(/ForCausalLM$/, "Model");
  return [undefined, architecture, model, model.replace(/Model$/, "TextModel")].includes(
    name as string | undefined,
  );
}

/** Quotes text other than a plain name, because it may contain terminal escapes. */
function quoteUnlessName(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  return /^[\w.-]+$/.test(value) ? value : JSON.stringify(value);
}
