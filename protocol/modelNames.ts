/** Models of sizes that Kit names, which start from random weights. */
export type PresetName = "kit/nano" | "kit/small";

/**
 * The linear maps of a Llama block, by the names that LoRA's `targetModules` uses. The compiler
 * spells out a `keyof` in its errors, where it would print only the name of a union.
 */
export type Projection = keyof Record<
  "q_proj" | "k_proj" | "v_proj" | "o_proj" | "gate_proj" | "up_proj" | "down_proj",
  unknown
>;
