import type { InferRequest, InferResult } from "../../../protocol/infer.ts";
import type { ModelShape } from "../../../protocol/trainConfig.ts";
import { type PromptStyle, openConversation, openDocument } from "../../llama/chat.ts";
import type { Decoder } from "./decoder.ts";
import { KitError } from "../../../protocol/error.ts";
import { createRandom } from "../../llama/random.ts";
import { sample } from "./sampler.ts";
import { BYTES, decode, SPECIALS } from "../../llama/tokenizer.ts";

/** A model that can be asked. */
export interface Generator {
  shape: ModelShape;
  promptStyle: PromptStyle;
  decoder: Decoder;
}

/**
 * Continues a conversation or a text.
 * @param request as `assertRequest` lets it through
 * @param pause is awaited before each token, and may throw to give up
 * @throws KitError `REQUEST_INVALID` for a prompt that leaves no room
 */
export async function generate(
  { shape, promptStyle, decoder }: Generator,
  request: InferRequest,
  pause: () => Promise<void>,
): Promise<InferResult> {
  const { temperature = 0, topP = 1, seed = 0, maxTokens } = request;
  const prompt = promptTokens(request, promptStyle);
  const room = shape.context - prompt.length;
  if (room < 1) {
    throw new KitError(
      "REQUEST_INVALID",
      `The prompt has ${prompt.length} tokens, which leaves no room for an answer in the model's context of ${shape.context}. Shorten it.`,
    );
  }
  const limit = Math.min(room, maxTokens ?? room);
  const random = createRandom(seed, "sample");
  const reading = decoder();
  const tokens: number[] = [];
  await pause();
  let logits = reading.read(prompt);
  for (;;) {
    const token = sample(answers(logits), { temperature, topP }, random);
    if (token === SPECIALS.eos)
      return { text: decode(tokens), finishReason: "stop", tokens: tokens.length };
    tokens.push(token);
    if (tokens.length === limit) break;
    await pause();
    logits = reading.read([token]);
  }
  return { text: decode(tokens), finishReason: "length", tokens: tokens.length };
}

/** An answer is made of bytes and its end; a model that has learned little likes other ids too. */
function answers(logits: Float32Array): Float32Array {
  return logits.map((logit, token) =>
    token < BYTES || token === SPECIALS.eos ? logit : -Infinity,
  );
}

function promptTokens(request: InferRequest, style: PromptStyle): number[] {
  if (request.messages) return openConversation(request.messages);
  if (style === "text") return openDocument(request.prompt);
  return openConversation([{ role: "user", content: request.prompt }]);
}
