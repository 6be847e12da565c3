import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { KitError } from "../../protocol/error.ts";
import type { LoraConfig } from "../../protocol/trainConfig.ts";
import { isProjection } from "../families/projections.ts";
import { parseHubName } from "../hub/hubName.ts";

export const ADAPTER_CONFIG = "adapter_config.json";
export const ADAPTER_FILE = "adapter_model.safetensors";

type Config = Record<string, unknown>;

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
}

/**
 * The adapter that an `adapter_config.json` describes.
 * @param path of the file, for errors
 * @throws KitError `CHECKPOINT_INVALID` unless its update is α/r · B·A, as LoRA defines it
 */
export function adapterOf(path: string, config: Config): SavedAdapter {
  const { r, lora_alpha: alpha } = config;
  const base = recordedBase(config);
  const isRank = typeof r === "number" && Number.isInteger(r) && r > 0;
  if (base === undefined || !isRank || typeof alpha !== "number" || !Number.isFinite(alpha))
    throw unknown(path);
  const isUnknown = (key: string) => !KNOWN.includes(key) && isSet(config[key]);
  const other = Object.keys(config).find(isUnknown) ?? otherText(config);
  if (other !== undefined) {
    throw new KitError(
      "CHECKPOINT_INVALID",
      `${path} sets ${other}, which Kit cannot apply. Use a model into which PEFT's merge_and_unload has merged it.`,
    );
  }
  // Rank-stabilized LoRA scales by α/√r.
  return { base, r, alpha: config["use_rslora"] === true ? alpha * Math.sqrt(r) : alpha };
}

/** As `adapterOf`, of an adapter to Llama's projections. */
export function llamaAdapterOf(path: string, config: Config): { base: string; lora: LoraConfig } {
  const { base, ...scale } = adapterOf(path, config);
  const { target_modules: targets } = config;
  if (!Array.isArray(targets) || targets.length === 0 || !targets.every(isProjection))
    throw unknown(path);
  return { base, lora: { ...scale, targetModules: targets } };
}

/**
 * The settings of PEFT 0.21 that Kit reads, and those that change nothing of what an adapter computes. Each
 * other one must not be set: it may be of a PEFT to come.
 */
const KNOWN = [
  ...["peft_type", "task_type", "base_model_name_or_path", "revision", "inference_mode"],
  ...["r", "lora_alpha", "use_rslora", "target_modules", "exclude_modules", "bias"],
  // How it was made and trained.
  ...["init_lora_weights", "lora_dropout", "loftq_config", "eva_config", "corda_config"],
  ...["lora_ga_config", "velora_config", "ensure_weight_tying", "qalora_group_size"],
  // Module paths, and the machine that it ran on.
  ...["auto_mapping", "layers_pattern", "megatron_config", "megatron_core", "runtime_config"],
  "peft_version",
];
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

export function unknown(path: string): KitError {
  return new KitError(
    "CHECKPOINT_INVALID",
    `${path} was not saved by Kit. Use an adapter that Kit saved.`,
  );
}

const PREFIX = "base_model.model.";

/** The name that PEFT gives an adapter's tensor. */
export function peftName(name: string): string {
  return PREFIX + name;
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
