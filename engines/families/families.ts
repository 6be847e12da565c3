import type { Dimensions } from "./dimensions.ts";
import type { Family } from "./family.ts";
import { gemma3 } from "./gemma3.ts";
import { llama } from "./llama.ts";
import { mistral } from "./mistral.ts";
import { qwen2 } from "./qwen2.ts";
import { qwen3 } from "./qwen3.ts";
import { smollm3 } from "./smollm3.ts";

/** All supported families, by `model_type`. */
export const FAMILIES = {
  llama,
  qwen2,
  qwen3,
  mistral,
  smollm3,
  gemma3_text: gemma3,
} satisfies Record<string, Family>;

export function familyOf({ family }: Pick<Dimensions, "family">): Family {
  const found = familyNamed(family);
  if (found) return found;
  throw new Error(`there is no family ${family}`);
}

export function familyNamed(name: unknown): Family | undefined {
  const families: Record<string, Family> = FAMILIES;
  return typeof name === "string" && Object.hasOwn(families, name) ? families[name] : undefined;
}
