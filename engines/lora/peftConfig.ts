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
 * `adapter_config.json`, as PEFT reads it.
 * @param base path of the model that the adapter belongs to, or its name on the hub: `org/name@commit`
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

/** The base that an `adapter_config.json` names: a path, or a name on the hub with its commit. */
export function recordedBase({ base_model_name_or_path: base, revision }: Config) {
  if (typeof base !== "string") return undefined;
  // As PEFT does: a folder that is there comes before a name on the hub.
  if (base !== "" && existsSync(resolve(base))) return resolve(base);
  return typeof revision === "string" && parseHubName(base) ? `${base}@${revision}` : base;
}

/** An adapter of any kind of model. */
export interface SavedAdapter extends Omit<LoraConfig, "targetModules"> {
  base: string;
  /** Of a module's own update, by its path in the model. */
  rankOf: (module: string) => number;
  /** What its update B·A is multiplied by. */
  scaleOf: (module: string) => number;
}

/**
 * The adapter that an `adapter_config.json` describes.
 * @param path of the file, for errors
 * @throws KitError `CHECKPOINT_INVALID` unless its updates are α/r · B·A, as LoRA defines it
 */
export function adapterOf(path: string, config: Config): SavedAdapter {
  const kind = otherKind(config);
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
  const other =
    Object.keys(config).find((key) => changesNumbers(key, config[key])) ?? otherText(config);
  if (other !== undefined) throw invalid(path, `sets ${other}, which Kit cannot apply. ${MERGE}`);
  const ranks = patternsOf(path, config, "rank_pattern", isRank);
  const alphas = patternsOf(path, config, "alpha_pattern", isNumber);
  const rankOf = (module: string) => patternValue(ranks, module) ?? r;
  // Rank-stabilized LoRA scales by α/√r.
  const plain = (value: number, rank: number) => (isStabilized ? value * Math.sqrt(rank) : value);
  const scaleOf = (module: string): number => {
    const rank = rankOf(module);
    return plain(patternValue(alphas, module) ?? alpha, rank) / rank;
  };
  return { base, r, alpha: plain(alpha, r), rankOf, scaleOf };
}

const SAVE = "Save or download it again";
const MERGE = "Use a model into which PEFT's merge_and_unload has merged it";

const isNumber = (value: unknown): value is number => Number.isFinite(value);
const isRank = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) > 0;

/** Why it is no LoRA of PEFT's, and what to do; undefined for one. */
function otherKind(config: Config): string | undefined {
  const { peft_type: kind } = config;
  if (kind === "LORA") return undefined;
  if (kind === undefined && ["lora_parameters", "fine_tune_type"].some((key) => key in config))
    return "is of MLX, whose adapters have a format of their own. Merge it into its model with mlx_lm's fuse, and use that";
  if (typeof kind !== "string")
    return 'names no peft_type. Write "peft_type": "LORA" into it if it is a LoRA';
  const name = /^\w+$/.test(kind) ? kind : JSON.stringify(kind);
  const isMergeable = !/PROMPT|TUNING|CARTRIDGE|CPT|XLORA/.test(kind);
  return `is an adapter of the kind ${name}, and Kit applies LORA. ${isMergeable ? MERGE : "Train a LoRA in its place"}`;
}

function patternsOf(
  path: string,
  config: Config,
  key: string,
  isValue: (value: unknown) => value is number,
): Patterns {
  const patterns = config[key];
  if (!isSet(patterns)) return {};
  const fits = ([pattern, value]: [string, unknown]) => isValue(value) && isModest(pattern);
  if (isRecord(patterns) && Object.entries(patterns).every(fits)) return patterns as Patterns;
  throw invalid(path, `has ${key} that Kit cannot read. ${MERGE}`);
}

function invalid(path: string, problem: string): KitError {
  return new KitError("CHECKPOINT_INVALID", `${path} ${problem}.`);
}

/** As `adapterOf`, of an adapter to Llama's projections. */
export function llamaAdapterOf(path: string, config: Config): { base: string; lora: LoraConfig } {
  const { base, r, alpha } = adapterOf(path, config);
  const { target_modules: targets } = config;
  if (!Array.isArray(targets) || targets.length === 0 || !targets.every(isProjection))
    throw untargeted(path);
  return { base, lora: { r, alpha, targetModules: targets } };
}

/** The settings of PEFT 0.21 that Kit applies, and those that change nothing of what an adapter computes. */
const KNOWN = [
  ...["peft_type", "task_type", "base_model_name_or_path", "revision", "inference_mode"],
  ...["r", "lora_alpha", "use_rslora", "target_modules", "exclude_modules", "bias"],
  ...["rank_pattern", "alpha_pattern", "layers_to_transform", "layers_pattern"],
  // How it was made and trained.
  ...["init_lora_weights", "lora_dropout", "loftq_config", "eva_config", "corda_config"],
  ...["lora_ga_config", "velora_config", "ensure_weight_tying", "qalora_group_size"],
  // Module paths, and the machine that it ran on.
  ...["auto_mapping", "megatron_config", "megatron_core", "runtime_config", "merge_weights"],
  "peft_version",
];

/** Settings of PEFT 0.21 that do: more tensors, other places for them, or another formula. */
const OTHER = [
  ...["use_dora", "use_qalora", "use_bdlora", "lora_bias", "fan_in_fan_out", "modules_to_save"],
  ...["layer_replication", "target_parameters", "trainable_token_indices"],
  ...["alora_invocation_tokens", "arrow_config", "kasa_config", "monteclora_config"],
];

/**
 * What other tools add, such as their version, changes nothing; a switch or a group of settings may be of a PEFT to
 * come, and PEFT's own would ignore it.
 */
function changesNumbers(key: string, value: unknown): boolean {
  if (KNOWN.includes(key) || /unsloth/i.test(key) || !isSet(value)) return false;
  return OTHER.includes(key) || value === true || typeof value === "object";
}

/** Other starts, such as PiSSA's, change the base as well. */
const PLAIN_STARTS = ["gaussian", "eva", "orthogonal"];

function otherText({ bias = "none", init_lora_weights: start }: Config): string | undefined {
  if (bias !== "none") return "bias";
  return typeof start === "string" && !PLAIN_STARTS.includes(start)
    ? "init_lora_weights"
    : undefined;
}

export function isSet(value: unknown): boolean {
  return typeof value === "object" && value !== null
    ? Object.keys(value).length > 0
    : Boolean(value);
}

export function untargeted(path: string): KitError {
  return invalid(path, `has target_modules that are no linear maps of its base. ${MERGE}`);
}

const PREFIX = "base_model.model.";

/** The name that PEFT gives an adapter's tensor. */
export function peftName(name: string): string {
  return PREFIX + name;
}

/** The name as PEFT saves it of one that a tool stored as PEFT has it in memory, or without its prefix. */
export function savedName(name: string): string {
  const saved = name.replace(/\.(lora_[AB])\.[^.]+\.weight$/, ".$1.weight");
  return saved.startsWith(PREFIX) ? saved : PREFIX + saved;
}

/** The path of an adapter's module in the model. */
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

/** What PEFT calls a pattern's value by the end of a module's path, such as a rank. */
export type Patterns = Readonly<Record<string, number>>;

/** As PEFT matches: the first pattern that the path, or the end of it after a dot, is. */
function patternValue(patterns: Patterns, module: string): number | undefined {
  const found = Object.keys(patterns).find((key) => new RegExp(`^(.*\\.)?(${key})$`).test(module));
  return found === undefined ? undefined : patterns[found];
}

const LONGEST = 200;
const MOST_REPEATS = 3;

/** Whether a pattern is a regular expression that takes little time on any path. */
function isModest(pattern: string): boolean {
  const repeats = pattern.match(/[*+?{]/g)?.length ?? 0;
  if (pattern.length > LONGEST || repeats > MOST_REPEATS || /\)[*+{]|\(\?|\\\d/.test(pattern))
    return false;
  try {
    return new RegExp(pattern) instanceof RegExp;
  } catch {
    // Another language's, or damaged.
    return false;
  }
}
