import { isDeepStrictEqual } from "node:util";
import { type Body, fieldOf, notSupported } from "./fields.ts";

/**
 * Unsupported fields of OpenAI, vLLM, SGLang, llama.cpp, Ollama and others, with their neutral values.
 * Empty values are neutral too.
 */
const NEUTRAL: Record<string, readonly unknown[]> = {
  n: [1],
  best_of: [1],
  echo: [false],
  suffix: [],
  modalities: [["text"]],
  audio: [],
  functions: [],
  function_call: [],
  presence_penalty: [0],
  frequency_penalty: [0],
  logit_bias: [],
  repetition_penalty: [1],
  repeat_penalty: [1],
  length_penalty: [1],
  top_k: [-1, 0],
  min_p: [0],
  top_a: [0],
  typical_p: [1],
  tfs_z: [1],
  top_n_sigma: [-1],
  xtc_probability: [0],
  dry_multiplier: [0],
  dynatemp_range: [0],
  mirostat: [0],
  no_repeat_ngram_size: [0],
  use_beam_search: [false],
  bad_words: [],
  bad_words_ids: [],
  allowed_token_ids: [],
  lora: [],
  adapter_id: [],
  nvext: [],
  logits_processors: [],
  custom_logit_processor: [],
  vllm_xargs: [],
  lora_path: [],
  min_tokens: [0],
  min_new_tokens: [0],
  min_length: [0],
  ignore_eos: [false],
  thinking_token_budget: [],
  stop_token_ids: [],
  stop_regex: [],
  no_stop_trim: [false],
  include_stop_str_in_output: [false],
  skip_special_tokens: [true],
  prompt_logprobs: [],
  truncate_prompt_tokens: [],
  add_generation_prompt: [true],
  chat_template: [],
  system: [],
  template: [],
  raw: [false],
  max_new_tokens: [],
  n_predict: [-1],
  num_predict: [-1],
  random_seed: [],
  enable_thinking: [],
  think: [],
  thinking: [],
  options: [],
  extra_body: [],
  grammar: [],
  guided_grammar: [],
  ebnf: [],
  structural_tag: [],
  moderation: [],
  web_search_options: [],
  documents: [],
  continuous_usage_stats: [false],
  return_token_ids: [false],
  guided_whitespace_pattern: [],
  whitespace_pattern: [],
  disable_any_whitespace: [false],
};

const RESPONSE_FORMAT = "Send response_format, with a JSON Schema or a regular expression.";
const THINKING = 'Send chat_template_kwargs, such as {"enable_thinking": false}.';
const ADAPTER = "Send the name of its model as model.";
const ADVICE: Record<string, string> = {
  n: "Send one request for each answer.",
  echo: "Send false, and add the prompt to the answer yourself.",
  audio: "Leave it out: answers are text.",
  moderation: "Moderate the answer yourself.",
  web_search_options: "Search yourself, and send the results in a message.",
  documents: 'Send chat_template_kwargs, such as {"documents":[…]}.',
  functions: "Send tools and tool_choice instead.",
  function_call: "Send tool_choice.",
  stop_token_ids: "Send their texts as stop.",
  stop_regex: "Send texts as stop.",
  max_new_tokens: "Send max_tokens.",
  n_predict: "Send max_tokens.",
  num_predict: "Send max_tokens.",
  random_seed: "Send seed.",
  enable_thinking: THINKING,
  think: THINKING,
  thinking: THINKING,
  lora: ADAPTER,
  lora_path: ADAPTER,
  adapter_id: ADAPTER,
  system: "Send it as a message with the role system.",
  raw: "Send the prompt to /v1/completions, which continues it as it is.",
  nvext: "Send its fields at the top level, such as guided_json.",
  options: "Send its fields at the top level, by OpenAI's names.",
  extra_body: "Send its fields at the top level.",
  grammar: RESPONSE_FORMAT,
  guided_grammar: RESPONSE_FORMAT,
  ebnf: RESPONSE_FORMAT,
  structural_tag: RESPONSE_FORMAT,
};

/** @throws ApiError 400 for an unsupported field with an effect */
export function refuseUnsupported(
  body: Body,
  parent = "",
  neutralValues = NEUTRAL,
  advice = ADVICE,
): void {
  for (const [name, neutral] of Object.entries(neutralValues)) {
    const value = fieldOf(body, name);
    if (isEmpty(name, value) || neutral.some((same) => isDeepStrictEqual(same, value))) continue;
    const alternative = neutral[0] === undefined ? "" : `, or send ${JSON.stringify(neutral[0])}`;
    throw notSupported(parent + name, advice[name] ?? `Leave it out${alternative}.`);
  }
}

function isEmpty(name: string, value: unknown): boolean {
  if (value === undefined || value === "") return true;
  // Even an empty object requests a search.
  if (name === "web_search_options") return false;
  return typeof value === "object" && Object.keys(value as object).length === 0;
}
