import type { Dimensions } from "./dimensions.ts";

export const EMBEDDING = "model.embed_tokens.weight";
export const FINAL_NORM = "model.norm.weight";
export const HEAD = "lm_head.weight";

export const ATTENTION = ["q_proj", "k_proj", "v_proj", "o_proj"] as const;
export const FEED_FORWARD = ["gate_proj", "up_proj", "down_proj"] as const;

/** A block's linear layers, by their names in LoRA's `targetModules`. */
export const PROJECTIONS = [...ATTENTION, ...FEED_FORWARD] as const;

export type Projection = (typeof PROJECTIONS)[number];

export function isProjection(name: unknown): name is Projection {
  return PROJECTIONS.some((projection) => projection === name);
}

/** [out, in] of each projection. */
export function projectionSizes(projection: Projection, d: Dimensions): [number, number] {
  switch (projection) {
    case "q_proj":
      return [d.heads * d.headDim, d.width];
    case "k_proj":
    case "v_proj":
      return [d.kvHeads * d.headDim, d.width];
    case "o_proj":
      return [d.width, d.heads * d.headDim];
    case "gate_proj":
    case "up_proj":
      return [d.intermediateSize, d.width];
    case "down_proj":
      return [d.width, d.intermediateSize];
  }
}
