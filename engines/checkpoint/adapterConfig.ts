import type { LoraConfig } from "../../protocol/trainConfig.ts";
import { parseHubName } from "../hub/hubName.ts";
import { type Projection, PROJECTIONS } from "../llama/weights.ts";

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

/** The adapter that an `adapter_config.json` describes, or undefined if it is not one of ours. */
export function adapterOf(
  config: Record<string, unknown>,
): { lora: LoraConfig; base: string } | undefined {
  const { base_model_name_or_path: base, r, lora_alpha: alpha, target_modules } = config;
  if (typeof base !== "string" || typeof r !== "number" || typeof alpha !== "number")
    return undefined;
  if (!Number.isInteger(r) || r < 1 || !Number.isFinite(alpha)) return undefined;
  if (!Array.isArray(target_modules) || target_modules.length === 0) return undefined;
  if (!target_modules.every(isProjection)) return undefined;
  const { revision } = config;
  const named = typeof revision === "string" && parseHubName(base) ? `${base}@${revision}` : base;
  return { base: named, lora: { r, alpha, targetModules: target_modules } };
}

function isProjection(target: unknown): target is Projection {
  return typeof target === "string" && Object.hasOwn(PROJECTIONS, target);
}

const PREFIX = "base_model.model.";

/** The names that PEFT gives an adapter's tensors. */
export function toPeftNames<T>(byName: Record<string, T>): Record<string, T> {
  return renamed(byName, (name) => PREFIX + name);
}

export function fromPeftNames<T>(byName: Record<string, T>): Record<string, T> {
  return renamed(byName, (name) => name.slice(PREFIX.length));
}

function renamed<T>(byName: Record<string, T>, rename: (name: string) => string) {
  return Object.fromEntries(Object.entries(byName).map(([name, value]) => [rename(name), value]));
}
