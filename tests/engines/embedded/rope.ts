/** The part of a `config.json` that a Llama's definition reads. */
export interface LlamaConfig {
  num_hidden_layers: number;
  hidden_size: number;
  num_attention_heads: number;
  num_key_value_heads: number;
  head_dim: number;
  rms_norm_eps: number;
  tie_word_embeddings: boolean;
  rope_theta: number;
  model_type: string;
  /** Gemma 3's own. */
  query_pre_attn_scalar?: number;
  sliding_window?: number;
  rope_local_base_freq?: number;
  layer_types?: string[];
  /** 0 for each layer that does not turn. */
  no_rope_layers?: number[];
  rope_scaling: null | {
    rope_type: "linear" | "llama3";
    factor: number;
    low_freq_factor: number;
    high_freq_factor: number;
    original_max_position_embeddings: number;
  };
}

/** Radians per position of a head's dimension i, as modeling_rope_utils.py defines them. */
export function inverseFrequency(config: LlamaConfig, i: number): number {
  const { rope_theta, rope_scaling: scaling, head_dim } = config;
  const own = rope_theta ** ((-2 * i) / head_dim);
  if (!scaling) return own;
  const slow = own / scaling.factor;
  if (scaling.rope_type === "linear") return slow;
  const wavelength = (2 * Math.PI) / own;
  const { original_max_position_embeddings: old, low_freq_factor, high_freq_factor } = scaling;
  if (wavelength < old / high_freq_factor) return own;
  if (wavelength > old / low_freq_factor) return slow;
  const smooth = (old / wavelength - low_freq_factor) / (high_freq_factor - low_freq_factor);
  return (1 - smooth) * slow + smooth * own;
}
