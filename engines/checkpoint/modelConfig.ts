import type { Dimensions, Rope } from "../families/dimensions.ts";
import { familyOf } from "../families/families.ts";
import { ACTIVATION } from "../families/family.ts";
import { ATTENTION, FEED_FORWARD } from "../families/projections.ts";
import { SPECIALS } from "../tokens/byteTokens.ts";

/**
 * `config.json` of one of Kit's own models, as `transformers` reads it.
 * @param dtype of the weights, by PyTorch's name
 */
export function modelConfig(d: Dimensions, dtype = "float32") {
  const family = familyOf(d);
  const { activation = ACTIVATION } = family;
  return {
    architectures: [family.architecture],
    model_type: d.family,
    vocab_size: d.vocabulary,
    hidden_size: d.width,
    intermediate_size: d.intermediateSize,
    num_hidden_layers: d.layers,
    num_attention_heads: d.heads,
    num_key_value_heads: d.kvHeads,
    head_dim: d.headDim,
    max_position_embeddings: d.context,
    [activation.key]: activation.names[0],
    rms_norm_eps: d.epsilon,
    rope_theta: d.rope.theta,
    rope_scaling: ropeScaling(d.rope) ?? null,
    attention_bias: ATTENTION.some((projection) => d.biases.includes(projection)),
    attention_dropout: 0,
    mlp_bias: FEED_FORWARD.some((projection) => d.biases.includes(projection)),
    tie_word_embeddings: d.tied,
    bos_token_id: SPECIALS.bos,
    eos_token_id: SPECIALS.eos,
    pad_token_id: SPECIALS.pad,
    use_cache: true,
    torch_dtype: dtype,
    ...family.write?.(d),
  };
}

function ropeScaling(rope: Rope): Record<string, string | number> | undefined {
  if (rope.type === "default") return undefined;
  if (rope.type === "linear") return { rope_type: "linear", factor: rope.factor };
  return {
    rope_type: "llama3",
    factor: rope.factor,
    low_freq_factor: rope.lowFreqFactor,
    high_freq_factor: rope.highFreqFactor,
    original_max_position_embeddings: rope.originalContext,
  };
}

/** `generation_config.json`: greedy, until a stop token. */
export function generationConfig() {
  return {
    bos_token_id: SPECIALS.bos,
    eos_token_id: SPECIALS.eos,
    pad_token_id: SPECIALS.pad,
    do_sample: false,
  };
}
