import { isRecord } from "../../protocol/isRecord.ts";
import type { Config, Dimensions } from "./dimensions.ts";
import type { Family } from "./family.ts";
import type { AttentionHeads, Layers } from "./layers.ts";
import { blockMaps, headNorms, listHead } from "./llama.ts";
import { EMBEDDING } from "./projections.ts";
import { readRope } from "./rope.ts";

const SLIDING = "sliding_attention";
const FULL = "full_attention";
/** Without `layer_types`, each sixth layer is a full one. */
const INTERVAL = 6;
const WINDOW = 4_096;
const THETA = 1_000_000;
const SLIDING_THETA = 10_000;
const QUERY_SCALAR = 256;

/** Gemma 3 without images: most layers see a window, and each norm before a part has one behind it. */
export const gemma3: Family = {
  architecture: "Gemma3ForCausalLM",
  defaults: { tied: true, headDim: 256 },
  activation: { key: "hidden_activation", name: "gelu_pytorch_tanh" },
  ...{ hasCenteredNorms: true, hasSlidingLayers: true },
  read(config, refuse) {
    for (const key of ["attn_logit_softcapping", "final_logit_softcapping"]) {
      if ((config[key] ?? null) !== null)
        throw refuse(`has an active ${key}. Use a model without one, as Gemma 3 is published.`);
    }
    if ((config["use_bidirectional_attention"] ?? false) !== false)
      throw refuse("attends to tokens that follow. Use a model that writes text.");
    const { query_pre_attn_scalar: scalar = QUERY_SCALAR } = config;
    if (!Number.isFinite(scalar) || Number(scalar) <= 0)
      throw refuse("needs a positive number as query_pre_attn_scalar. Save or download it again.");
    const { full, sliding } = ropesOf(config, refuse);
    return {
      queryScalar: Number(scalar),
      rope: full,
      sliding: {
        layers: slidingLayers(config, refuse),
        window: windowOf(config, refuse),
        ...sliding,
      },
    };
  },
  write: ({ layers, queryScalar, sliding }) => ({
    query_pre_attn_scalar: queryScalar,
    sliding_window: sliding?.window ?? WINDOW,
    rope_local_base_freq: sliding?.theta ?? SLIDING_THETA,
    layer_types: Array.from({ length: layers }, (_, layer) =>
      sliding?.layers.includes(layer) ? SLIDING : FULL,
    ),
  }),
  list: listGemma,
};

function listGemma<X>(layers: Layers<X>, d: Dimensions): void {
  const heads: AttentionHeads = { heads: d.heads, kvHeads: d.kvHeads, headDim: d.headDim };
  const { queryScalar } = d;
  let x = layers.embedding(EMBEDDING, d.vocabulary, d.width, Math.sqrt(d.width));
  for (let layer = 0; layer < d.layers; layer++) {
    const norm = (name: string) => `model.layers.${layer}.${name}_layernorm.weight`;
    const sliding = d.sliding?.layers.includes(layer) ? d.sliding : undefined;
    const rope = sliding ? ({ type: "default", theta: sliding.theta } as const) : d.rope;

    const h1 = layers.norm(x, norm("input"));
    let qkv = layers.linear(h1, blockMaps(d, layer, "self_attn", ["q_proj", "k_proj", "v_proj"]));
    qkv = layers.rotation(layers.headNorm(qkv, heads, headNorms(layer)), heads, rope);
    const seen = layers.attention(qkv, heads, { queryScalar, window: sliding?.window });
    const attentionOut = layers.linear(seen, blockMaps(d, layer, "self_attn", ["o_proj"]));
    x = layers.norm(attentionOut, norm("post_attention"), x);

    const h2 = layers.norm(x, norm("pre_feedforward"));
    const gateUp = layers.linear(h2, blockMaps(d, layer, "mlp", ["gate_proj", "up_proj"]));
    const down = layers.linear(layers.geglu(gateUp), blockMaps(d, layer, "mlp", ["down_proj"]));
    x = layers.norm(down, norm("post_feedforward"), x);
  }
  listHead(layers, d, x);
}

type Refuse = (problem: string) => Error;

/** By the keys of transformers 5, or of 4. */
function ropesOf(config: Config, refuse: Refuse) {
  const { rope_parameters: parameters, rope_scaling: scaling, rope_theta: theta } = config;
  const { [FULL]: ofFull, [SLIDING]: ofSliding } = isRecord(parameters) ? parameters : {};
  const { rope_local_base_freq: slidingTheta } = config;
  const full = { rope_parameters: ofFull, rope_scaling: scaling, rope_theta: theta };
  const sliding = readRope(
    { rope_parameters: ofSliding, rope_theta: slidingTheta },
    refuse,
    SLIDING_THETA,
  );
  if (sliding.type !== "default")
    throw refuse("stretches the rope of its sliding layers. Use a model that does not.");
  return { full: readRope(full, refuse, THETA), sliding: { theta: sliding.theta } };
}

function windowOf({ sliding_window: window = WINDOW }: Config, refuse: Refuse): number {
  if (Number.isSafeInteger(window) && Number(window) > 0) return Number(window);
  throw refuse("needs a positive whole number as sliding_window. Save or download it again.");
}

function slidingLayers(config: Config, refuse: Refuse): number[] {
  const layers = Array.from({ length: Number(config["num_hidden_layers"]) }, (_, layer) => layer);
  const { layer_types: types, _sliding_window_pattern: own = INTERVAL } = config;
  if (types === undefined || types === null) {
    const { sliding_window_pattern: interval = own } = config;
    if (Number.isSafeInteger(interval) && Number(interval) > 0)
      return layers.filter((layer) => (layer + 1) % Number(interval) !== 0);
    throw refuse(
      "needs a positive whole number as sliding_window_pattern. Save or download it again.",
    );
  }
  const isKnown = (type: unknown) => type === SLIDING || type === FULL;
  if (Array.isArray(types) && types.length === layers.length && types.every(isKnown))
    return layers.filter((layer) => types[layer] === SLIDING);
  throw refuse(
    `needs ${SLIDING} or ${FULL} for each layer as layer_types. Save or download it again.`,
  );
}
