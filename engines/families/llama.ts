import type { Config } from "../modelFiles/configFile.ts";
import type { Dimensions } from "./dimensions.ts";
import type { Family } from "./family.ts";
import type { AttentionHeads, Layers, LinearLayer } from "./layers.ts";
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
  build: (layers, d) => buildBlocks(layers, d),
};

/** The projections that have a bias: all of attention, all of the feed-forward, both or none, as the config says. */
export const llamaBiases = (config: Config): Projection[] => [
  ...(config["attention_bias"] === true ? ATTENTION : []),
  ...(config["mlp_bias"] === true ? FEED_FORWARD : []),
];

/** As `llamaBiases`, but never of the feed-forward. */
export const attentionBiases = ({ attention_bias }: Config) => llamaBiases({ attention_bias });

/** How a family's queries and keys differ from Llama's. */
interface Options {
  hasHeadNorms?: boolean;
  usesRope?: (layer: number) => boolean;
}

/** Builds blocks of attention and a feed-forward, each added to the residual. */
export function buildBlocks<X>(
  layers: Layers<X>,
  d: Dimensions,
  { hasHeadNorms = false, usesRope = () => true }: Options = {},
): void {
  const heads: AttentionHeads = { heads: d.heads, kvHeads: d.kvHeads, headDim: d.headDim };
  let x = layers.embedding(EMBEDDING, d.vocabulary, d.width);
  for (let layer = 0; layer < d.layers; layer++) {
    const block = `model.layers.${layer}`;
    const linears = (submodule: Submodule, projections: readonly Projection[]) =>
      blockLinears(d, layer, submodule, projections);

    const h1 = layers.norm(x, `${block}.input_layernorm.weight`);
    let qkv = layers.linear(h1, linears("self_attn", ["q_proj", "k_proj", "v_proj"]));
    if (hasHeadNorms) qkv = layers.headNorm(qkv, heads, headNorms(layer));
    if (usesRope(layer)) qkv = layers.rope(qkv, heads, d.rope);
    const attentionOut = layers.attention(qkv, heads, d);
    x = layers.linear(attentionOut, linears("self_attn", ["o_proj"]), x);

    const h2 = layers.norm(x, `${block}.post_attention_layernorm.weight`);
    const gateUp = layers.linear(h2, linears("mlp", ["gate_proj", "up_proj"]));
    x = layers.linear(layers.swiglu(gateUp), linears("mlp", ["down_proj"]), x);
  }
  buildHead(layers, d, x);
}

type Submodule = "self_attn" | "mlp";

/** Linear layers of a block. */
export function blockLinears(
  d: Dimensions,
  layer: number,
  submodule: Submodule,
  projections: readonly Projection[],
): LinearLayer[] {
  return projections.map((target) => ({
    name: `model.layers.${layer}.${submodule}.${target}`,
    out: projectionSizes(target, d)[0],
    hasBias: d.biases.includes(target),
    target,
  }));
}

/** Names of a block's head norms. */
export function headNorms(layer: number): { q: string; k: string } {
  const norm = (head: string) => `model.layers.${layer}.self_attn.${head}_norm.weight`;
  return { q: norm("q"), k: norm("k") };
}

/** Builds the final norm and the head. */
export function buildHead<X>(layers: Layers<X>, d: Dimensions, x: X): void {
  const h = layers.norm(layers.select(x), FINAL_NORM);
  layers.head(h, d.tied ? EMBEDDING : HEAD, d.vocabulary);
}
