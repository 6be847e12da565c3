import { expect, test } from "vitest";
import { modelConfig } from "../../../engines/checkpoint/modelConfig.ts";
import { configShape } from "../../../engines/families/config.ts";
import { dimensionsOf } from "../../../engines/families/dimensions.ts";
import { randomWeights } from "../../../engines/families/randomWeights.ts";

/** What the config.json of the published model of a billion weights says. */
const PUBLISHED = {
  architectures: ["Gemma3ForCausalLM"],
  model_type: "gemma3_text",
  attn_logit_softcapping: null,
  final_logit_softcapping: null,
  attention_bias: false,
  head_dim: 256,
  hidden_activation: "gelu_pytorch_tanh",
  hidden_size: 1152,
  intermediate_size: 6912,
  max_position_embeddings: 32_768,
  num_attention_heads: 4,
  num_hidden_layers: 26,
  num_key_value_heads: 1,
  query_pre_attn_scalar: 256,
  rms_norm_eps: 1e-6,
  rope_local_base_freq: 10_000,
  rope_scaling: null,
  rope_theta: 1_000_000,
  sliding_window: 512,
  sliding_window_pattern: 6,
  vocab_size: 262_144,
};
const FULL = [5, 11, 17, 23];
const LAYERS = Array.from({ length: 26 }, (_, layer) => layer);
const TYPES = LAYERS.map((layer) =>
  FULL.includes(layer) ? "full_attention" : "sliding_attention",
);

const shapeOf = (changes: object) => configShape("config.json", { ...PUBLISHED, ...changes });

test("a published Gemma 3 has sliding layers with a rope of their own", () => {
  expect(shapeOf({})).toEqual({
    family: "gemma3_text",
    layers: 26,
    heads: 4,
    kvHeads: 1,
    headDim: 256,
    width: 1152,
    intermediateSize: 6912,
    vocabulary: 262_144,
    context: 32_768,
    epsilon: 1e-6,
    tied: true,
    biases: [],
    queryScalar: 256,
    noRopeLayers: [],
    rope: { type: "default", theta: 1e6 },
    sliding: {
      layers: LAYERS.filter((layer) => !FULL.includes(layer)),
      window: 512,
      theta: 10_000,
    },
  });
});

test.each([
  { sliding_window_pattern: undefined, layer_types: TYPES },
  { sliding_window_pattern: undefined, _sliding_window_pattern: 6 },
  { sliding_window_pattern: undefined },
  { rope_theta: undefined, rope_local_base_freq: undefined },
  { hidden_activation: undefined, query_pre_attn_scalar: undefined, head_dim: undefined },
  {
    rope_theta: undefined,
    rope_local_base_freq: undefined,
    layer_types: TYPES,
    rope_parameters: {
      full_attention: { rope_type: "default", rope_theta: 1_000_000 },
      sliding_attention: { rope_type: "default", rope_theta: 10_000 },
    },
  },
])("older and newer configs say the same of it: %j", (changes) => {
  expect(shapeOf(changes)).toEqual(shapeOf({}));
});

test("a rope is stretched in full layers alone", () => {
  const { rope, sliding } = shapeOf({ rope_scaling: { rope_type: "linear", factor: 8 } });
  expect(rope).toEqual({ type: "linear", theta: 1e6, factor: 8 });
  expect(sliding).toEqual(shapeOf({}).sliding);
});

test("Kit's own config.json of a Gemma 3 says what it is", () => {
  const shape = shapeOf({ layer_types: TYPES.toReversed(), query_pre_attn_scalar: 168 });
  expect(configShape("config.json", modelConfig(shape))).toEqual(shape);
});

test("random norms leave their inputs' size as it is", () => {
  const sizes = dimensionsOf({ layers: 1, heads: 2, width: 8, context: 16, family: "gemma3_text" });
  const norms = Object.entries(randomWeights(sizes, 1)).filter(([name]) => name.includes("norm"));
  expect(norms).toHaveLength(7);
  for (const [name, { data }] of norms) expect(new Set(data), name).toEqual(new Set([0]));
});

test.each([
  [
    { architectures: ["Gemma3ForConditionalGeneration"], model_type: "gemma3", vision_config: {} },
    "also reads images. Use a text-only model, such as google/gemma-3-1b-it.",
  ],
  [{ final_logit_softcapping: 30 }, "has an active final_logit_softcapping. Use a model without"],
  [{ attn_logit_softcapping: 50 }, "has an active attn_logit_softcapping. Use a model without it"],
  [
    { use_bidirectional_attention: true },
    "attends to later tokens, too. Use a causal language model.",
  ],
  [{ hidden_activation: "gelu" }, 'has the activation "gelu". Use a model with gelu_pytorch_tanh.'],
  [{ query_pre_attn_scalar: 0 }, "needs a positive number as query_pre_attn_scalar. Save or"],
  [{ sliding_window: null }, "needs a positive whole number as sliding_window for"],
  [{ sliding_window_pattern: 0 }, "needs a positive whole number as sliding_window_pattern. Save"],
  [{ layer_types: TYPES.slice(1) }, "for each layer as layer_types. Save or download it again."],
  [
    { layer_types: TYPES.map(() => "chunked_attention") },
    "needs sliding_attention or full_attention",
  ],
  [
    { rope_parameters: { sliding_attention: { rope_type: "linear", rope_theta: 1e4, factor: 2 } } },
    "scales the RoPE of its sliding layers. Use a model that doesn't.",
  ],
  [
    { rope_scaling: { rope_type: "yarn", factor: 8 } },
    'uses rope type "yarn". Use a model with type',
  ],
])("what Kit does not compute of a Gemma 3 is refused: %j", (changes, said) => {
  expect(() => shapeOf(changes)).toThrow(said);
});
