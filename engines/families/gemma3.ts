import { isRecord } from "../../protocol/isRecord.ts";
import type { Config } from "../modelFiles/configFile.ts";
import type { Dimensions, Rope } from "./dimensions.ts";
import type { Family, InvalidConfig } from "./family.ts";
import type { AttentionHeads, Layers } from "./layers.ts";
import { attentionBiases, blockLinears, headNorms, buildHead } from "./llama.ts";
import { EMBEDDING } from "./projections.ts";
import { readRope } from "./rope.ts";
import {
  type SlidingConfig,
  FULL,
  SLIDING,
  DEFAULT_WINDOW,
  slidingLayers,
} from "./slidingLayers.ts";

/** If the config doesn't say otherwise, every sixth layer has full attention. */
const FULL_INTERVAL = 6;
const THETA = 1_000_000;
const SLIDING_THETA = 10_000;
const QUERY_SCALAR = 256;
/** All names that configs have for this function. */
const GELU_BY_TANH = [
  "gelu_pytorch_tanh",
  "gelu_python_tanh",
  "gelu_new",
  "gelu_fast",
  "gelu_accurate",
] as const;

/** Gemma 3 for text: most layers have a sliding window, and each submodule has a norm before and after it. */
export const gemma3: Family = {
  architecture: "Gemma3ForCausalLM",
  defaults: { tied: true, headDim: 256, kvHeads: 4 },
  activation: { key: "hidden_activation", names: GELU_BY_TANH },
  biases: attentionBiases,
  hasCenteredNorms: true,
  hasSlidingLayers: true,
  read(config, invalid) {
    for (const key of ["attn_logit_softcapping", "final_logit_softcapping"]) {
      if ((config[key] ?? null) !== null)
        throw invalid(`has an active ${key}. Use a model without it, such as Google's own.`);
    }
    if ((config["use_bidirectional_attention"] ?? false) !== false)
      throw invalid("attends to later tokens, too. Use a causal language model.");
    const { query_pre_attn_scalar: scalar = QUERY_SCALAR } = config;
    if (!Number.isFinite(scalar) || Number(scalar) <= 0)
      throw invalid("needs a positive number as query_pre_attn_scalar. Save or download it again.");
    const { sliding_window_pattern: interval = FULL_INTERVAL } = config;
    if (!Number.isSafeInteger(interval) || Number(interval) < 1) {
      throw invalid(
        "needs a positive whole number as sliding_window_pattern. Save or download it again.",
      );
    }
    const { full, theta } = ropesOf(config, invalid);
    const sliding = slidingLayers(config, GEMMA_SLIDING, invalid);
    return {
      queryScalar: Number(scalar),
      rope: full,
      sliding: sliding && { ...sliding, theta },
    };
  },
  write: ({ layers, queryScalar, sliding }) => ({
    query_pre_attn_scalar: queryScalar,
    sliding_window: sliding?.window ?? DEFAULT_WINDOW,
    rope_local_base_freq: sliding?.theta ?? SLIDING_THETA,
    layer_types: Array.from({ length: layers }, (_, layer) =>
      sliding?.layers.includes(layer) ? SLIDING : FULL,
    ),
  }),
  build: buildGemma,
};

function buildGemma<X>(layers: Layers<X>, d: Dimensions): void {
  const heads: AttentionHeads = { heads: d.heads, kvHeads: d.kvHeads, headDim: d.headDim };
  const { queryScalar } = d;
  let x = layers.embedding(EMBEDDING, d.vocabulary, d.width, Math.sqrt(d.width));
  for (let layer = 0; layer < d.layers; layer++) {
    const norm = (name: string) => `model.layers.${layer}.${name}_layernorm.weight`;
    const sliding = d.sliding?.layers.includes(layer) ? d.sliding : undefined;
    const rope = sliding ? ({ type: "default", theta: sliding.theta } as const) : d.rope;

    const h1 = layers.norm(x, norm("input"));
    let qkv = layers.linear(
      h1,
      blockLinears(d, layer, "self_attn", ["q_proj", "k_proj", "v_proj"]),
    );
    qkv = layers.rope(layers.headNorm(qkv, heads, headNorms(layer)), heads, rope);
    const attended = layers.attention(qkv, heads, { queryScalar, window: sliding?.window });
    const attentionOut = layers.linear(attended, blockLinears(d, layer, "self_attn", ["o_proj"]));
    x = layers.norm(attentionOut, norm("post_attention"), x);

    const h2 = layers.norm(x, norm("pre_feedforward"));
    const gateUp = layers.linear(h2, blockLinears(d, layer, "mlp", ["gate_proj", "up_proj"]));
    const down = layers.linear(layers.geglu(gateUp), blockLinears(d, layer, "mlp", ["down_proj"]));
    x = layers.norm(down, norm("post_feedforward"), x);
  }
  buildHead(layers, d, x);
}

const GEMMA_SLIDING: SlidingConfig = {
  window: ({ sliding_window: window = DEFAULT_WINDOW }) => window,
  isSliding: ({ sliding_window_pattern: interval = FULL_INTERVAL }, layer) =>
    (layer + 1) % Number(interval) !== 0,
};

/** Reads the keys of `transformers` 5 or 4. `rope_scaling` applies only to layers with full attention. */
function ropesOf(config: Config, invalid: InvalidConfig): { full: Rope; theta: number } {
  const { rope_parameters: parameters, rope_scaling: scaling, ...rest } = config;
  const {
    [FULL]: fullRope,
    [SLIDING]: slidingRope,
    ...unknownKeys
  } = isRecord(parameters) ? parameters : {};
  if (Object.keys(unknownKeys).length > 0) {
    throw invalid(
      `has ${Object.keys(unknownKeys)[0]} in its rope_parameters, where only ${FULL} and ${SLIDING} are allowed. Save or download it again.`,
    );
  }
  const scalingKeys = recordOf(scaling);
  if (scalingKeys["rope_type"] === undefined && (scalingKeys["type"] ?? "default") !== "default") {
    throw invalid(
      "has the key type in its rope_scaling, which transformers ignores for Gemma 3. Rename it to rope_type.",
    );
  }
  const { rope_theta: theta, partial_rotary_factor, max_position_embeddings } = rest;
  const shared = { partial_rotary_factor, max_position_embeddings };
  const full = readRope(
    {
      ...shared,
      rope_theta: theta,
      rope_parameters: { ...recordOf(fullRope), ...scalingKeys },
    },
    invalid,
    THETA,
  );
  const sliding = readRope(
    { ...shared, rope_theta: rest["rope_local_base_freq"], rope_parameters: slidingRope },
    invalid,
    SLIDING_THETA,
  );
  if (sliding.type !== "default")
    throw invalid("scales the RoPE of its sliding layers. Use a model that doesn't.");
  return { full, theta: sliding.theta };
}

function recordOf(value: unknown): Config {
  return isRecord(value) ? value : {};
}
