import * as tokenizers from "@huggingface/tokenizers";

/** The part of Hugging Face's tokenizer that is used; its own types need a bundler. */
export interface Library {
  encode: (
    text: string,
    options: { add_special_tokens: boolean },
  ) => { ids: number[]; tokens: string[] };
  decode: (
    ids: number[],
    options: { skip_special_tokens: boolean; clean_up_tokenization_spaces: boolean },
  ) => string;
  token_to_id: (token: string) => number | undefined;
  id_to_token: (id: number) => string | undefined;
  get_added_tokens_decoder: () => Map<number, { special: boolean; content: string }>;
}

interface Package {
  Tokenizer: new (tokenizer: object, config: object) => Library;
}

// Imported, not required: file tracers find no other form.
const { Tokenizer } = tokenizers as unknown as Package;

/** @param tokenizer `tokenizer.json` @param config `tokenizer_config.json` */
export function createLibrary(tokenizer: object, config: object): Library {
  return new Tokenizer(tokenizer, config);
}
