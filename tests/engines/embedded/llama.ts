import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type LlamaConfig, inverseFrequency } from "./rope.ts";

/** What the tanh of GELU's approximation takes. */
const geluArgument = (x: number) => Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3);

/** Kit's ids of bytes, a count, and of an answer's end. */
const [BYTES, EOS] = [256, 258];

/**
 * Llama as `transformers` defines it (modeling_llama.py), and Gemma 3 (modeling_gemma3.py), for one row, in float64
 * and from the saved files alone: shares no code with the engine.
 * @returns logits, [token][vocabulary]
 */
export function referenceLogits(directory: string, tokens: number[]): number[][] {
  const config = JSON.parse(readFileSync(join(directory, "config.json"), "utf8")) as LlamaConfig;
  const tensor = tensorReader(readFileSync(join(directory, "model.safetensors")));
  const { num_hidden_layers, num_attention_heads, num_key_value_heads } = config;
  const { head_dim, rms_norm_eps } = config;
  const shared = num_attention_heads / num_key_value_heads;
  const embedding = tensor("model.embed_tokens.weight");
  const head = config["tie_word_embeddings"] ? embedding : tensor("lm_head.weight");

  const isGemma = config.model_type === "gemma3_text";
  const isSliding = (layer: number) => config.layer_types?.[layer] === "sliding_attention";
  const norm = (x: number[], name: string) => {
    const [weight = []] = tensor(name);
    const variance = x.reduce((sum, value) => sum + value * value, 0) / x.length;
    return x.map(
      (value, i) =>
        (((weight[i] ?? NaN) + (isGemma ? 1 : 0)) * value) / Math.sqrt(variance + rms_norm_eps),
    );
  };
  const rotate = (x: number[], position: number, layer: number) => {
    if (config.no_rope_layers?.[layer] === 0) return x;
    const half = head_dim / 2;
    const { rope_local_base_freq: local = NaN } = config;
    const rope = isSliding(layer) ? { ...config, rope_theta: local, rope_scaling: null } : config;
    return x.map((value, i) => {
      const angle = position * inverseFrequency(rope, i % half);
      const partner = i < half ? -(x[i + half] ?? NaN) : (x[i - half] ?? NaN);
      return value * Math.cos(angle) + partner * Math.sin(angle);
    });
  };
  const linear = (x: number[], name: string) => {
    const [bias = []] = tensor.has(`${name}.bias`) ? tensor(`${name}.bias`) : [];
    return tensor(`${name}.weight`).map((row, i) => dot(row, x) + (bias[i] ?? 0));
  };

  const factor = isGemma ? Math.sqrt(config.hidden_size) : 1;
  let states = tokens.map((token) => (embedding[token] ?? []).map((value) => factor * value));
  for (let layer = 0; layer < num_hidden_layers; layer++) {
    const prefix = `model.layers.${layer}`;
    const normed = states.map((x) => norm(x, `${prefix}.input_layernorm.weight`));
    const projected = (name: string) => normed.map((x) => linear(x, `${prefix}.self_attn.${name}`));
    const headNorm = (x: number[], part: string) => {
      const name = `${prefix}.self_attn.${part}_norm.weight`;
      return tensor.has(name) ? norm(x, name) : x;
    };
    const [q, k, v] = [projected("q_proj"), projected("k_proj"), projected("v_proj")];
    states = states.map((x, at) => {
      const heads = Array.from({ length: num_attention_heads }, (_, head) => {
        const part = (y: number[] = [], index = Math.floor(head / shared)) =>
          y.slice(index * head_dim, (index + 1) * head_dim);
        const first = isSliding(layer) ? Math.max(0, at + 1 - (config.sliding_window ?? NaN)) : 0;
        const query = rotate(headNorm(part(q[at], head), "q"), at, layer);
        const scores = k
          .slice(0, at + 1)
          .map((y, i) => dot(query, rotate(headNorm(part(y), "k"), i, layer)));
        const shares = scores.map((score, i) =>
          i < first ? 0 : Math.exp(score / Math.sqrt(config.query_pre_attn_scalar ?? head_dim)),
        );
        const total = shares.reduce((sum, share) => sum + share, 0);
        return part(v[0]).map((_, i) =>
          shares.reduce((sum, share, j) => sum + (share / total) * (part(v[j])[i] ?? NaN), 0),
        );
      });
      const out = linear(heads.flat(), `${prefix}.self_attn.o_proj`);
      return add(x, isGemma ? norm(out, `${prefix}.post_attention_layernorm.weight`) : out);
    });
    states = states.map((x) => {
      const before = isGemma ? "pre_feedforward" : "post_attention";
      const h = norm(x, `${prefix}.${before}_layernorm.weight`);
      const gate = linear(h, `${prefix}.mlp.gate_proj`);
      const up = linear(h, `${prefix}.mlp.up_proj`);
      const activation = (value: number) =>
        isGemma
          ? 0.5 * value * (1 + Math.tanh(geluArgument(value)))
          : value / (1 + Math.exp(-value));
      const inner = gate.map((value, i) => activation(value) * (up[i] ?? NaN));
      const out = linear(inner, `${prefix}.mlp.down_proj`);
      return add(x, isGemma ? norm(out, `${prefix}.post_feedforward_layernorm.weight`) : out);
    });
  }
  return states.map((x) => {
    const h = norm(x, "model.norm.weight");
    return head.map((row) => dot(row, h));
  });
}

/** The text that greedily follows these tokens, at most so many of bytes, by the same definition. */
export function referenceText(directory: string, prompt: number[], most: number): string {
  const written: number[] = [];
  while (written.length < most) {
    const logits = referenceLogits(directory, [...prompt, ...written]).at(-1) ?? [];
    const allowed = logits.map((logit, id) => (id < BYTES || id === EOS ? logit : -Infinity));
    const next = allowed.indexOf(Math.max(...allowed));
    if (next === EOS) break;
    written.push(next);
  }
  return new TextDecoder().decode(Uint8Array.from(written), { stream: true });
}

/** Reads a tensor's rows; a vector is one row. */
export function tensorReader(file: Buffer) {
  const length = Number(file.readBigUInt64LE());
  const header = JSON.parse(file.subarray(8, 8 + length).toString()) as Record<
    string,
    { dtype: string; shape: number[]; data_offsets: [number, number] }
  >;
  const names = Object.keys(header).filter((name) => name !== "__metadata__");
  return Object.assign(read, { has: (name: string) => name in header, names: names.toSorted() });

  function read(name: string): number[][] {
    const entry = header[name];
    if (!entry) throw new Error(`no tensor ${name}`);
    const columns = entry.shape.at(-1) ?? 1;
    const [from, to] = entry.data_offsets;
    const rows: number[][] = [];
    const bytes = entry.dtype === "BF16" ? 2 : 4;
    for (let at = from; at < to; at += columns * bytes) {
      rows.push(Array.from({ length: columns }, (_, i) => number(8 + length + at + i * bytes)));
    }
    return rows;

    function number(at: number): number {
      if (bytes === 4) return file.readFloatLE(at);
      return Buffer.of(0, 0, ...file.subarray(at, at + 2)).readFloatLE();
    }
  }
}

function dot(a: number[], b: number[]): number {
  return a.reduce((sum, value, i) => sum + value * (b[i] ?? NaN), 0);
}

function add(a: number[], b: number[]): number[] {
  return a.map((value, i) => value + (b[i] ?? NaN));
}
