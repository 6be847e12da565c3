import { type Body, recordOf } from "../fields.ts";
import { refuseUnsupported } from "../unsupported.ts";

const CONVERSATION = "Nothing is stored: send the whole conversation as input.";
const LIMIT = "Send max_output_tokens.";
const FORMAT = "Send text.format, with a JSON Schema or a regular expression.";
/** Fields that need stored responses, and fields of chat completions, with what to send instead. */
const ADVICE: Record<string, string> = {
  previous_response_id: CONVERSATION,
  conversation: CONVERSATION,
  store: "Nothing is stored: leave it out, or send false, and keep the response yourself.",
  background: "Wait for the response, or send stream: true.",
  prompt: "Nothing is stored: send the prompt's text as instructions and input.",
  truncation: 'Shorten the input yourself, and leave it out, or send "disabled".',
  context_management: "Shorten the input yourself.",
  messages: "Send them as input.",
  max_tokens: LIMIT,
  max_completion_tokens: LIMIT,
  max_new_tokens: LIMIT,
  n_predict: LIMIT,
  num_predict: LIMIT,
  response_format: "Send text.format.",
  grammar: FORMAT,
  guided_grammar: FORMAT,
  ebnf: FORMAT,
  structural_tag: FORMAT,
  reasoning_effort: 'Send reasoning, such as {"effort":"low"}.',
  logprobs: 'Send include: ["message.output_text.logprobs"].',
};
/** Values without an effect. */
const OFF = [false, "disabled", -1];
const NEUTRAL = Object.fromEntries(Object.keys(ADVICE).map((name) => [name, OFF]));
/** Without reasoning, its summary is empty. */
const REASONING = { summary: ["auto"], generate_summary: ["auto"] };

/** @throws ApiError 400 for fields of other routes, or that need stored responses */
export function refuseForeign(body: Body): void {
  refuseUnsupported(body, "", NEUTRAL, ADVICE);
  refuseUnsupported(recordOf(body, "reasoning") ?? {}, "reasoning.", REASONING);
}
