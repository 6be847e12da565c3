import { type Dimensions, projectionSizes } from "./dimensions.ts";
import type { Layers, LinearMap } from "./layers.ts";
import {
  type Projection,
  EMBEDDING,
  FINAL_NORM,
  HEAD,
  headNormName,
  normName,
  projectionName,
} from "./weights.ts";

/** Lists the operations of a model of Llama's family: blocks of attention, then of a feed-forward. */
export function listModel<X>(layers: Layers<X>, d: Dimensions): void {
  let x = layers.embedding(EMBEDDING, d.vocabulary, d.width);
  for (let layer = 0; layer < d.layers; layer++) {
    x = attentionPart(layers, d, layer, x);
    x = feedForwardPart(layers, d, layer, x);
  }
  const h = layers.norm(layers.select(x), FINAL_NORM);
  layers.head(h, d.tied ? EMBEDDING : HEAD, d.vocabulary);
}

/** x + o(attention(qkv(norm(x)))) */
function attentionPart<X>(layers: Layers<X>, d: Dimensions, layer: number, x: X): X {
  const heads = { heads: d.heads, kvHeads: d.kvHeads, headDim: d.headDim };
  const norms = { q: headNormName(layer, "q"), k: headNormName(layer, "k") };
  const h = layers.norm(x, normName(layer, "input"));
  let qkv = layers.linear(h, maps(d, layer, ["q_proj", "k_proj", "v_proj"]));
  if (d.headNorms) qkv = layers.headNorm(qkv, heads, norms);
  qkv = layers.rotation(qkv, heads, d.rope);
  return layers.linear(layers.attention(qkv, heads), maps(d, layer, ["o_proj"]), x);
}

/** x + down(swiglu(gateUp(norm(x)))) */
function feedForwardPart<X>(layers: Layers<X>, d: Dimensions, layer: number, x: X): X {
  const h = layers.norm(x, normName(layer, "post_attention"));
  const gateUp = layers.linear(h, maps(d, layer, ["gate_proj", "up_proj"]));
  return layers.linear(layers.swiglu(gateUp), maps(d, layer, ["down_proj"]), x);
}

function maps(d: Dimensions, layer: number, projections: readonly Projection[]): LinearMap[] {
  return projections.map((target) => ({
    name: projectionName(layer, target),
    out: projectionSizes(target, d)[0],
    hasBias: d.biases.includes(target),
    target,
  }));
}
