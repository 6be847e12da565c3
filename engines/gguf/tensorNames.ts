/** Patterns of Hugging Face's module names, and llama.cpp's names. */
export type Modules = readonly (readonly [from: RegExp, to: string])[];

const MODULES: Modules = [
  [/^model\.embed_tokens$/, "token_embd"],
  [/^model\.norm$/, "output_norm"],
  [/^lm_head$/, "output"],
  [/^model\.layers\.(\d+)\.input_layernorm$/, "blk.$1.attn_norm"],
  [/^model\.layers\.(\d+)\.post_attention_layernorm$/, "blk.$1.ffn_norm"],
  [/^model\.layers\.(\d+)\.self_attn\.([qkv])_proj$/, "blk.$1.attn_$2"],
  [/^model\.layers\.(\d+)\.self_attn\.([qk])_norm$/, "blk.$1.attn_$2_norm"],
  [/^model\.layers\.(\d+)\.self_attn\.o_proj$/, "blk.$1.attn_output"],
  [/^model\.layers\.(\d+)\.mlp\.(gate|up|down)_proj$/, "blk.$1.ffn_$2"],
];

/**
 * llama.cpp's name of a tensor.
 * @param name `….weight`, `….bias`, or PEFT's `….lora_A.weight`
 * @param overrides the architecture's own module names
 */
export function ggufName(name: string, overrides: Modules = []): string {
  const [, module = "", suffix = ""] = /^(.*?)\.(weight|bias|lora_[AB]\.weight)$/.exec(name) ?? [];
  const found = [...overrides, ...MODULES].find(([from]) => from.test(module));
  if (!found) throw new Error(`there is no name for ${name}`);
  const end = suffix.startsWith("lora") ? `weight.${suffix.slice(0, 6).toLowerCase()}` : suffix;
  return `${module.replace(...found)}.${end}`;
}

/** The tensor of divisors of RoPE's frequencies. */
export const ROPE_FACTORS = "rope_freqs.weight";
