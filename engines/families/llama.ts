import { type Config } from "../modelFiles/configFile.ts";
import type { Dimensions } from "./dimensions.ts";
import type { Family } from "./family.ts";
import type { AttentionHeads, Layers, LinearMap } from "./layers.ts";
import {
  type Projection,
  ATTENTION,
  EMBEDDING,
  FEED_FORWARD,
  FINAL_NORM,
  HEAD,
  projectionSizes,
} from "./projections.ts";

export const llama: Family = {
  architecture: "LlamaForCausalLM",
  list: (layers, d) => listBlocks(layers, d),
};

/** Of each map of attention, and of the feed-forward, as its config says. */
export const llamaBiases = (config: Config): Projection[] => [
  ...(config["attention_bias"] === true ? ATTENTION : []),
  ...(config["mlp_bias"] === true ? FEED_FORWARD : []),
];

/** Of attention's maps alone. */
export const attentionBiases = ({ attention_bias }: Config) => llamaBiases({ attention_bias });

/** What families do with the queries and keys of a layer before they are rotated, and whether they are. */
interface Options {
  hasHeadNorms?: boolean;
  rotates?: (layer: number) => boolean;
}

/** Blocks of attention, then of a feed-forward; each is added to the residual. */
export function listBlocks<X>(
  layers: Layers<X>,
  d: Dimensions,
  { hasHeadNorms = false, rotates = () => true }: Options = {},
): void {
  const heads: AttentionHeads = { heads: d.heads, kvHeads: d.kvHeads, headDim: d.headDim };
  let x = layers.embedding(EMBEDDING, d.vocabulary, d.width);
  for (let layer = 0; layer < d.layers; layer++) {
    const block = `model.layers.${layer}`;
    const maps = (part: Part, projections: readonly Projection[]) =>
      blockMaps(d, layer, part, projections);

    const h1 = layers.norm(x, `${block}.input_layernorm.weight`);
    let qkv = layers.linear(h1, maps("self_attn", ["q_proj", "k_proj", "v_proj"]));
    if (hasHeadNorms) qkv = layers.headNorm(qkv, heads, headNorms(layer));
    if (rotates(layer)) qkv = layers.rotation(qkv, heads, d.rope);
    const attentionOut = layers.attention(qkv, heads, d);
    x = layers.linear(attentionOut, maps("self_attn", ["o_proj"]), x);

    const h2 = layers.norm(x, `${block}.post_attention_layernorm.weight`);
    const gateUp = layers.linear(h2, maps("mlp", ["gate_proj", "up_proj"]));
    x = layers.linear(layers.swiglu(gateUp), maps("mlp", ["down_proj"]), x);
  }
  listHead(layers, d, x);
}

type Part = "self_attn" | "mlp";

/** Linear maps of a block. */
export function blockMaps(
  d: Dimensions,
  layer: number,
  part: Part,
  projections: readonly Projection[],
): LinearMap[] {
  return projections.map((target) => ({
    name: `model.layers.${layer}.${part}.${target}`,
    out: projectionSizes(target, d)[0],
    hasBias: d.biases.includes(target),
    target,
  }));
}

/** The weights of a block's norms of heads. */
export function headNorms(layer: number): { q: string; k: string } {
  const norm = (part: string) => `model.layers.${layer}.self_attn.${part}_norm.weight`;
  return { q: norm("q"), k: norm("k") };
}

/** What follows the last block. */
export function listHead<X>(layers: Layers<X>, d: Dimensions, x: X): void {
  const h = layers.norm(layers.select(x), FINAL_NORM);
  layers.head(h, d.tied ? EMBEDDING : HEAD, d.vocabulary);
}
