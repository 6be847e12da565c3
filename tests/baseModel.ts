import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { saveModel } from "../engines/checkpoint/checkpoint.ts";
import { tokenizerJson } from "../engines/checkpoint/tokenizerFiles.ts";
import { dimensionsOf } from "../engines/families/dimensions.ts";
import { randomWeights } from "../engines/families/randomWeights.ts";

export const CHATML = `{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`;

/** As Llama 3's, in short. */
export const LLAMA3 = `{{ bos_token }}{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>

{{ m.content | trim }}<|eot_id|>{% endfor %}{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>

{% endif %}`;

interface BaseModel {
  /** Added to 256 tokens of a byte each, from 256 on. */
  specials: string[];
  template?: string | undefined;
  /** Of `tokenizer_config.json`. */
  tokenizer?: object;
  /** Of `config.json`. */
  config?: object;
  /** `generation_config.json`; none without it. */
  generation?: object | undefined;
  /** Written before each text. */
  bos?: string;
}

const SHAPE = dimensionsOf({
  ...{ layers: 2, heads: 2, kvHeads: 1, width: 32, intermediateSize: 64 },
  ...{ context: 256, vocabulary: 272, tied: true },
});

/** Writes a small model with bytes as tokens, as it is published. Its weights are random. */
export function saveBaseModel(path: string, model: BaseModel): void {
  saveModel(path, randomWeights(SHAPE, 1), { shape: SHAPE, promptStyle: "message" });
  const own = tokenizerJson();
  const added = model.specials.map((content, i) => ({
    ...{ id: 256 + i, content, single_word: false, lstrip: false, rstrip: false },
    ...{ normalized: false, special: true },
  }));
  const text = { Sequence: { id: "A", type_id: 0 } };
  const id = 256 + model.specials.indexOf(model.bos ?? "");
  const bos = model.bos === undefined ? undefined : { SpecialToken: { id: model.bos, type_id: 0 } };
  const processor = bos && {
    ...{ type: "TemplateProcessing", single: [bos, text], pair: [bos, text, bos, text] },
    special_tokens: { [model.bos!]: { id: model.bos, ids: [id], tokens: [model.bos] } },
  };
  const write = (name: string, value: object) =>
    writeFileSync(join(path, name), JSON.stringify(value));
  write("tokenizer.json", { ...own, added_tokens: added, post_processor: processor ?? null });
  write("tokenizer_config.json", {
    ...{ tokenizer_class: "PreTrainedTokenizerFast", ...(bos && { bos_token: model.bos }) },
    ...{ chat_template: model.template, ...model.tokenizer },
  });
  write("config.json", {
    ...{ architectures: ["LlamaForCausalLM"], model_type: "llama", vocab_size: SHAPE.vocabulary },
    ...{ hidden_size: SHAPE.width, intermediate_size: SHAPE.intermediateSize },
    ...{ num_hidden_layers: SHAPE.layers, num_attention_heads: SHAPE.heads },
    ...{ num_key_value_heads: SHAPE.kvHeads, max_position_embeddings: SHAPE.context },
    ...{ rms_norm_eps: 1e-5, rope_theta: 10_000, hidden_act: "silu", tie_word_embeddings: true },
    ...{ bos_token_id: null, eos_token_id: null, torch_dtype: "float32", ...model.config },
  });
  rmSync(join(path, "generation_config.json"));
  if (model.generation) write("generation_config.json", model.generation);
}
