/** Models of sizes that Kit names, which start from random weights. */
export type PresetName = "kit/nano" | "kit/small";

/** The linear maps of a Llama block, by the names that LoRA's `targetModules` uses. */
export type Projection =
  | "q_proj"
  | "k_proj"
  | "v_proj"
  | "o_proj"
  | "gate_proj"
  | "up_proj"
  | "down_proj";
