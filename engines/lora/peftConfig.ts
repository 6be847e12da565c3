import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { KitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import type { LoraConfig } from "../../protocol/trainConfig.ts";
import { isProjection } from "../families/projections.ts";
import { parseHubName } from "../hub/hubName.ts";
import type { Config } from "../modelFiles/configFile.ts";

export const ADAPTER_CONFIG = "adapter_config.json";
export const ADAPTER_FILE = "adapter_model.safetensors";

/**
 * Creates an `adapter_config.json` that PEFT can read.
 * @param base path of the base model, or its name on the hub: `org/name@commit`
 */
export function adapterConfig({ r, alpha, targetModules }: LoraConfig, base: string) {
  const { repo, revision } = parseHubName(base) ?? { repo: base };
  return {
    peft_type: "LORA",
    task_type: "CAUSAL_LM",
    base_model_name_or_path: repo,
    ...(revision !== undefined && { revision }),
    r,
    lora_alpha: alpha,
    lora_dropout: 0,
    target_modules: targetModules,
    bias: "none",
    fan_in_fan_out: false,
    init_lora_weights: true,
    inference_mode: true,
    modules_to_save: null,
  };
}

/** The base in an `adapter_config.json`: a path, or a name on the hub with its commit. */
export function recordedBase({ base_model_name_or_path: base, revision }: Config) {
  if (typeof base !== "string") return undefined;
  // As in PEFT, an existing folder takes precedence over a name on the hub.
  if (base !== "" && existsSync(resolve(base))) return resolve(base);
  return typeof revision === "string" && parseHubName(base) ? `${base}@${revision}` : base;
}

/** A saved adapter, for any architecture. */
export interface SavedAdapter extends Omit<LoraConfig, "targetModules"> {
  base: string;
  /** Rank of a module's update, by its path in the model. */
  rankOf: (module: string) => number;
  /** Factor of a module's update B·A. */
  scaleOf: (module: string) => number;
}

/**
 * Reads the adapter that an `adapter_config.json` describes.
 * @param path of the file, for errors
 * @throws KitError `CHECKPOINT_INVALID` unless it is plain LoRA
 */
export function adapterOf(path: string, config: Config): SavedAdapter {
  const kind = unsupportedKind(config);
  if (kind !== undefined) throw invalid(path, kind);
  const base = recordedBase(config);
  if (base === undefined || base === "") {
    throw invalid(
      path,
      "names no base. Write the base's folder, or its name on the hub, into it as base_model_name_or_path",
    );
  }
  const { r, lora_alpha: alpha, use_rslora: isStabilized } = config;
  if (!isRank(r)) {
    throw invalid(path, `needs a positive whole number as r, not ${JSON.stringify(r)}. ${SAVE}`);
  }
  if (!isNumber(alpha)) {
    throw invalid(path, `needs a number as lora_alpha, not ${JSON.stringify(alpha)}. ${SAVE}`);
  }
  const unsupported =
    Object.keys(config).find((key) => changesNumbers(key, config[key])) ??
    unsupportedTextKey(config);
  if (unsupported !== undefined)
    throw invalid(path, `sets ${unsupported}, which Kit cannot apply. ${MERGE}`);
  const ranks = patternsOf(path, config, "rank_pattern", isRank);
  const alphas = patternsOf(path, config, "alpha_pattern", isNumber);
  const rankOf = (module: string) => patternValue(ranks, module) ?? r;
  // Rank-stabilized LoRA scales by α/√r.
  const stabilized = (value: number, rank: number) =>
    isStabilized ? value * Math.sqrt(rank) : value;
  const scaleOf = (module: string): number => {
    const rank = rankOf(module);
    return stabilized(patternValue(alphas, module) ?? alpha, rank) / rank;
  };
  return { base, r, alpha: stabilized(alpha, r), rankOf, scaleOf };
}

const SAVE = "Save or download it again";
const MERGE = "Use a model into which PEFT's merge_and_unload has merged it";

const isNumber = (value: unknown): value is number => Number.isFinite(value);
const isRank = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) > 0;

/** Why an adapter isn't PEFT's LoRA, and what to do; undefined if it is. */
function unsupportedKind(config: Config): string | undefined {
  const { peft_type: kind } = config;
  if (kind === "LORA") return undefined;
  if (kind === undefined && ["lora_parameters", "fine_tune_type"].some((key) => key in config))
    return "is in MLX's own adapter format. Merge it into its model with mlx_lm's fuse, and use that";
  if (typeof kind !== "string")
    return 'names no peft_type. Write "peft_type": "LORA" into it if it is a LoRA';
  const name = /^\w+$/.test(kind) ? kind : JSON.stringify(kind);
  const isMergeable = !/PROMPT|TUNING|CARTRIDGE|CPT|XLORA/.test(kind);
  return `is an adapter of type ${name}, and Kit supports only LORA. ${isMergeable ? MERGE : "Train a LoRA instead"}`;
}

function patternsOf(
  path: string,
  config: Config,
  key: string,
  isValue: (value: unknown) => value is number,
): Patterns {
  const patterns = config[key];
  if (!isSet(patterns)) return {};
  const fits = ([pattern, value]: [string, unknown]) => isValue(value) && isSafePattern(pattern);
  if (isRecord(patterns) && Object.entries(patterns).every(fits)) return patterns as Patterns;
  throw invalid(path, `has ${key} that Kit cannot read. ${MERGE}`);
}

function invalid(path: string, problem: string): KitError {
  return new KitError("CHECKPOINT_INVALID", `${path} ${problem}.`);
}

/** As `adapterOf`, but for an adapter of Llama's projections. */
export function llamaAdapterOf(path: string, config: Config): { base: string; lora: LoraConfig } {
  const { base, r, alpha } = adapterOf(path, config);
  const { target_modules: targets } = config;
  if (!Array.isArray(targets) || targets.length === 0 || !targets.every(isProjection))
    throw untargeted(path);
  return { base, lora: { r, alpha, targetModules: targets } };
}

/** PEFT 0.21's settings that Kit applies, or that don't change an adapter's result. */
const SUPPORTED = [
  "peft_type",
  "task_type",
  "base_model_name_or_path",
  "revision",
  "inference_mode",
  "r",
  "lora_alpha",
  "use_rslora",
  "target_modules",
  "exclude_modules",
  "bias",
  "rank_pattern",
  "alpha_pattern",
  "layers_to_transform",
  "layers_pattern",
  // Initialization and training.
  "init_lora_weights",
  "lora_dropout",
  "loftq_config",
  "eva_config",
  "corda_config",
  "lora_ga_config",
  "velora_config",
  "ensure_weight_tying",
  "qalora_group_size",
  // Module paths and the runtime.
  "auto_mapping",
  "megatron_config",
  "megatron_core",
  "runtime_config",
  "merge_weights",
  "peft_version",
];

/** PEFT 0.21's settings that Kit can't apply: they add tensors, adapt other modules or change the formula. */
const UNSUPPORTED = [
  "use_dora",
  "use_qalora",
  "use_bdlora",
  "lora_bias",
  "fan_in_fan_out",
  "modules_to_save",
  "layer_replication",
  "target_parameters",
  "trainable_token_indices",
  "alora_invocation_tokens",
  "arrow_config",
  "kasa_config",
  "monteclora_config",
];

/**
 * Whether a setting may change an adapter's result. Other tools add harmless ones, such as their version; an unknown
 * switch or group may belong to a later PEFT.
 */
function changesNumbers(key: string, value: unknown): boolean {
  if (SUPPORTED.includes(key) || /unsloth/i.test(key) || !isSet(value)) return false;
  return UNSUPPORTED.includes(key) || value === true || typeof value === "object";
}

/** Initializations that leave the base alone, unlike PiSSA's. */
const PLAIN_INITS = ["gaussian", "eva", "orthogonal"];

function unsupportedTextKey({
  bias = "none",
  init_lora_weights: start,
}: Config): string | undefined {
  if (bias !== "none") return "bias";
  return typeof start === "string" && !PLAIN_INITS.includes(start)
    ? "init_lora_weights"
    : undefined;
}

export function isSet(value: unknown): boolean {
  return typeof value === "object" && value !== null
    ? Object.keys(value).length > 0
    : Boolean(value);
}

export function untargeted(path: string): KitError {
  return invalid(path, `has target_modules that are not linear layers of its base. ${MERGE}`);
}

const PREFIX = "base_model.model.";

/** PEFT's name of an adapter's tensor. */
export function peftName(name: string): string {
  return PREFIX + name;
}

/** The name under which PEFT saves a tensor, from PEFT's name in memory or a name without the prefix. */
export function savedName(name: string): string {
  const saved = name.replace(/\.(lora_[AB])\.[^.]+\.weight$/, ".$1.weight");
  return saved.startsWith(PREFIX) ? saved : PREFIX + saved;
}

/** The path in the model of the module that a tensor belongs to. */
export function moduleOf(name: string): string {
  return savedName(name)
    .slice(PREFIX.length)
    .replace(/\.lora_[AB]\.weight$/, "");
}

export function toPeftNames<T>(byName: Record<string, T>): Record<string, T> {
  return renamed(byName, peftName);
}

export function fromPeftNames<T>(byName: Record<string, T>): Record<string, T> {
  return renamed(byName, (name) => name.slice(PREFIX.length));
}

function renamed<T>(byName: Record<string, T>, rename: (name: string) => string) {
  return Object.fromEntries(Object.entries(byName).map(([name, value]) => [rename(name), value]));
}

/** PEFT's values by pattern of a module's path, such as ranks. */
export type Patterns = Readonly<Record<string, number>>;

/** As in PEFT, the first pattern that matches the path, or its end after a dot. */
function patternValue(patterns: Patterns, module: string): number | undefined {
  const found = Object.keys(patterns).find((key) => new RegExp(`^(.*\\.)?(${key})$`).test(module));
  return found === undefined ? undefined : patterns[found];
}

const MAX_PATTERN_LENGTH = 200;
const MAX_REPEATS = 3;

/** Whether a pattern is a regular expression that can't backtrack excessively. */
function isSafePattern(pattern: string): boolean {
  const repeats = pattern.match(/[*+?{]/g)?.length ?? 0;
  if (
    pattern.length > MAX_PATTERN_LENGTH ||
    repeats > MAX_REPEATS ||
    /\)[*+{]|\(\?|\\\d/.test(pattern)
  )
    return false;
  try {
    return new RegExp(pattern) instanceof RegExp;
  } catch {
    // It uses Python's own syntax, or is damaged.
    return false;
  }
}
