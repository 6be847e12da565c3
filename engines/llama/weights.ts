import { createRandom } from "../random.ts";
import { type LlamaShape, dimensionsOf, projectionSizes } from "./dimensions.ts";

/** A dense tensor on the JavaScript side, row-major. */
export interface Tensor {
  shape: number[];
  data: Float32Array;
}

/** A model's tensors by Llama's names; matrices are [out, in]. */
export type Weights = Record<string, Tensor>;

export const EMBEDDING = "model.embed_tokens.weight";
export const FINAL_NORM = "model.norm.weight";
export const HEAD = "lm_head.weight";

/** The part of a block that each projection belongs to. */
export const PROJECTIONS = {
  q_proj: "self_attn",
  k_proj: "self_attn",
  v_proj: "self_attn",
  o_proj: "self_attn",
  gate_proj: "mlp",
  up_proj: "mlp",
  down_proj: "mlp",
} as const satisfies Record<string, "self_attn" | "mlp">;

/** A linear map of a block, by the name that LoRA's `targetModules` uses. */
export type Projection = keyof typeof PROJECTIONS;

/** A projection's name without `.weight`. */
export function projectionName(layer: number, projection: Projection): string {
  return `model.layers.${layer}.${PROJECTIONS[projection]}.${projection}`;
}

export function normName(layer: number, norm: "input" | "post_attention"): string {
  return `model.layers.${layer}.${norm}_layernorm.weight`;
}

/** The norm of each head's query or key. */
export function headNormName(layer: number, part: "q" | "k"): string {
  return `model.layers.${layer}.self_attn.${part}_norm.weight`;
}

/** Every tensor that a model of this shape has, and its dimensions. */
export function weightShapes(shape: LlamaShape): Record<string, number[]> {
  const d = dimensionsOf(shape);
  const shapes: Record<string, number[]> = {
    [EMBEDDING]: [d.vocabulary, d.width],
    [FINAL_NORM]: [d.width],
    ...(!d.tied && { [HEAD]: [d.vocabulary, d.width] }),
  };
  for (let layer = 0; layer < d.layers; layer++) {
    shapes[normName(layer, "input")] = [d.width];
    shapes[normName(layer, "post_attention")] = [d.width];
    if (d.headNorms)
      for (const part of ["q", "k"] as const) shapes[headNormName(layer, part)] = [d.headDim];
    for (const projection of Object.keys(PROJECTIONS) as Projection[]) {
      const sizes = projectionSizes(projection, d);
      const name = projectionName(layer, projection);
      shapes[`${name}.weight`] = sizes;
      if (d.biases.includes(projection)) shapes[`${name}.bias`] = [sizes[0]];
    }
  }
  return shapes;
}

export interface WeightCounts {
  tensors: number;
  /** In all tensors together. */
  numbers: number;
}

export function weightCounts(shape: LlamaShape): WeightCounts {
  return countOf(weightShapes(shape));
}

/** Counts tensors of these dimensions. */
export function countOf(shapes: Record<string, number[]>): WeightCounts {
  const sizes = Object.values(shapes).map((sizes) => sizes.reduce((a, b) => a * b));
  return { tensors: sizes.length, numbers: sizes.reduce((sum, size) => sum + size, 0) };
}

const EMBEDDING_DEVIATION = 0.2;

/**
 * Random weights: fan-in scaling (1/√in); the matrices that write to the residual stream are divided
 * by √(2·layers), so that its variance does not grow with depth.
 */
export function randomWeights(shape: LlamaShape, seed: number): Weights {
  const residual = 1 / Math.sqrt(2 * shape.layers);
  const weights: Weights = {};
  for (const [name, dimensions] of Object.entries(weightShapes(shape))) {
    const data = new Float32Array(dimensions.reduce((product, size) => product * size, 1));
    if (dimensions.length === 1) {
      data.fill(name.endsWith(".bias") ? 0 : 1);
    } else {
      const random = createRandom(seed, name);
      const writesResidual = /(o_proj|down_proj)\.weight$/.test(name);
      const fanIn = 1 / Math.sqrt(dimensions[1] ?? 1);
      const deviation =
        name === EMBEDDING ? EMBEDDING_DEVIATION : fanIn * (writesResidual ? residual : 1);
      for (let i = 0; i < data.length; i++) data[i] = random.normal() * deviation;
    }
    weights[name] = { shape: dimensions, data };
  }
  return weights;
}
