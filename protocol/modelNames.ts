/** Models of sizes that Kit names, which start from random weights. */
export type PresetName = "kit/nano" | "kit/small";

/** The linear maps of a block, by the names that LoRA's `targetModules` uses. */
export const PROJECTIONS = {
  q_proj: "self_attn",
  k_proj: "self_attn",
  v_proj: "self_attn",
  o_proj: "self_attn",
  gate_proj: "mlp",
  up_proj: "mlp",
  down_proj: "mlp",
} as const;

export type Projection = keyof typeof PROJECTIONS;
