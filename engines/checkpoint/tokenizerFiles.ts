import type { ModelShape } from "../../protocol/trainConfig.ts";
import { CHAT_TEMPLATE } from "../tokens/byteChat.ts";
import { SPECIALS, byteCharacters, specialText } from "../tokens/byteTokens.ts";
import type { PromptStyle } from "../tokens/tokenizer.ts";

/** `tokenizer.json` for Hugging Face: byte-level BPE without merges, and the special tokens. */
export function tokenizerJson() {
  const bos = { SpecialToken: { id: specialText("bos"), type_id: 0 } };
  const sequence = (id: string, type: number) => ({ Sequence: { id, type_id: type } });
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: (Object.keys(SPECIALS) as (keyof typeof SPECIALS)[]).map((name) => ({
      id: SPECIALS[name],
      content: specialText(name),
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
    })),
    normalizer: null,
    pre_tokenizer: {
      type: "ByteLevel",
      add_prefix_space: false,
      trim_offsets: true,
      use_regex: false,
    },
    post_processor: {
      type: "TemplateProcessing",
      single: [bos, sequence("A", 0)],
      pair: [bos, sequence("A", 0), sequence("B", 1)],
      special_tokens: {
        [specialText("bos")]: {
          id: specialText("bos"),
          ids: [SPECIALS.bos],
          tokens: [specialText("bos")],
        },
      },
    },
    decoder: { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: false },
    model: {
      type: "BPE",
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      vocab: Object.fromEntries(byteCharacters().map((character, byte) => [character, byte])),
      merges: [],
    },
  };
}

/** `tokenizer_config.json`. `prompt_style` is Kit's own entry: how the model reads a bare prompt. */
export function tokenizerConfig({ context }: ModelShape, promptStyle: PromptStyle) {
  return {
    tokenizer_class: "PreTrainedTokenizerFast",
    bos_token: specialText("bos"),
    eos_token: specialText("eos"),
    pad_token: specialText("pad"),
    clean_up_tokenization_spaces: false,
    model_max_length: context,
    model_input_names: ["input_ids", "attention_mask"],
    chat_template: CHAT_TEMPLATE,
    prompt_style: promptStyle,
  };
}
