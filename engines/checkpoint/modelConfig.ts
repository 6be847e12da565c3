import { NORM_EPSILON, ropeTheta } from "../llama/constants.ts";
import { SPECIALS, VOCABULARY } from "../llama/tokenizer.ts";
import { type LlamaShape, feedForwardWidth } from "../llama/weights.ts";

/**
 * `config.json`, as `transformers` reads it for a LlamaForCausalLM.
 * @param dtype of the weights, by PyTorch's name
 */
export function modelConfig(shape: LlamaShape, dtype = "float32") {
  const { layers, heads, width, context, tieWordEmbeddings = true } = shape;
  return {
    architectures: ["LlamaForCausalLM"],
    model_type: "llama",
    vocab_size: VOCABULARY,
    hidden_size: width,
    intermediate_size: feedForwardWidth(width),
    num_hidden_layers: layers,
    num_attention_heads: heads,
    num_key_value_heads: heads,
    head_dim: width / heads,
    max_position_embeddings: context,
    hidden_act: "silu",
    rms_norm_eps: NORM_EPSILON,
    rope_theta: ropeTheta(context),
    rope_scaling: null,
    attention_bias: false,
    attention_dropout: 0,
    mlp_bias: false,
    tie_word_embeddings: tieWordEmbeddings,
    bos_token_id: SPECIALS.bos,
    eos_token_id: SPECIALS.eos,
    pad_token_id: SPECIALS.pad,
    use_cache: true,
    torch_dtype: dtype,
  };
}

/** `generation_config.json`: greedy, to the end of the answer. */
export function generationConfig() {
  return {
    bos_token_id: SPECIALS.bos,
    eos_token_id: SPECIALS.eos,
    pad_token_id: SPECIALS.pad,
    do_sample: false,
  };
}

/** The shape that a `config.json` describes, or undefined for another kind of model. */
export function shapeOf(config: Record<string, unknown>): LlamaShape | undefined {
  const sizes = {
    layers: config["num_hidden_layers"],
    heads: config["num_attention_heads"],
    width: config["hidden_size"],
    context: config["max_position_embeddings"],
  };
  if (Object.values(sizes).some((size) => !Number.isInteger(size))) return undefined;
  const isUntied = config["tie_word_embeddings"] === false;
  const shape = { ...sizes, ...(isUntied && { tieWordEmbeddings: false }) } as LlamaShape;
  const own: Record<string, unknown> = modelConfig(shape);
  return DECISIVE.every((key) => config[key] === own[key]) ? shape : undefined;
}

/** Weights keep their meaning only if these settings equal those that Kit writes. */
const DECISIVE = [
  "model_type",
  "vocab_size",
  "intermediate_size",
  "num_key_value_heads",
  "rms_norm_eps",
  "rope_theta",
  "tie_word_embeddings",
];
