import type { ModelShape } from "../../protocol/trainConfig.ts";
import { createRandom } from "./random.ts";
import { VOCABULARY } from "./tokenizer.ts";

/** A Llama's sizes, and what only a checkpoint's config says. */
export interface LlamaShape extends ModelShape {
  /** Whether the head is the embedding; if not, it is a matrix of its own, `lm_head.weight`. Default true. */
  tieWordEmbeddings?: boolean;
}

/** A dense tensor on the JavaScript side, row-major. */
export interface Tensor {
  shape: number[];
  data: Float32Array<ArrayBuffer>;
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

/** Size of the feed-forward's hidden state: Llama's 8/3 of the width, up to a multiple of 16. */
export function feedForwardWidth(width: number): number {
  return Math.ceil((width * 8) / 3 / 16) * 16;
}

/** [out, in] of each projection. */
export function projectionShape(projection: Projection, shape: ModelShape): [number, number] {
  const hidden = feedForwardWidth(shape.width);
  if (projection === "down_proj") return [shape.width, hidden];
  if (projection === "gate_proj" || projection === "up_proj") return [hidden, shape.width];
  return [shape.width, shape.width];
}

/** Every tensor that a model of this shape has, and its dimensions. */
export function weightShapes(shape: LlamaShape): Record<string, number[]> {
  const shapes: Record<string, number[]> = {
    [EMBEDDING]: [VOCABULARY, shape.width],
    [FINAL_NORM]: [shape.width],
    ...(shape.tieWordEmbeddings === false && { [HEAD]: [VOCABULARY, shape.width] }),
  };
  for (let layer = 0; layer < shape.layers; layer++) {
    shapes[normName(layer, "input")] = [shape.width];
    shapes[normName(layer, "post_attention")] = [shape.width];
    for (const projection of Object.keys(PROJECTIONS) as Projection[]) {
      shapes[`${projectionName(layer, projection)}.weight`] = projectionShape(projection, shape);
    }
  }
  return shapes;
}

export interface WeightCounts {
  tensors: number;
  /** In all tensors together. */
  numbers: number;
}

/** Counts without listing, because a shape may claim a billion layers. */
export function weightCounts(shape: LlamaShape): WeightCounts {
  const none = countOf(weightShapes({ ...shape, layers: 0 }));
  const one = countOf(weightShapes({ ...shape, layers: 1 }));
  const all = (key: keyof WeightCounts) => none[key] + shape.layers * (one[key] - none[key]);
  return { tensors: all("tensors"), numbers: all("numbers") };
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
      data.fill(1);
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
