import { KitError } from "../../../protocol/error.ts";
import type { InferRequest, InferResult } from "../../../protocol/infer.ts";
import { createRandom } from "../../random.ts";
import type { PromptStyle, Tokenizer } from "../../tokens/tokenizer.ts";
import type { Decoder } from "./decoder.ts";
import { sample } from "./sampler.ts";

/** A model that can be asked. */
export interface Generator {
  /** Longest prompt with its answer, in tokens. */
  context: number;
  promptStyle: PromptStyle;
  tokenizer: Tokenizer;
  decoder: Decoder;
  /** For each token id: 1 if an answer may contain it or end with it. */
  allowed: Uint8Array;
}

/** Masks ids that an undertrained model might pick. */
export function answerTokens({ vocabulary, isSpoken, isEnd }: Tokenizer): Uint8Array {
  return Uint8Array.from({ length: vocabulary }, (_, id) => (isSpoken(id) || isEnd(id) ? 1 : 0));
}

/**
 * Continues a conversation or a text.
 * @param request as `checkRequest` returns it
 * @param pause is awaited before each token, and may throw to give up
 * @throws KitError `REQUEST_INVALID` for a prompt that leaves no room, `CHECKPOINT_INVALID` for logits
 * that are not finite
 */
export async function generate(
  { context, promptStyle, tokenizer, decoder, allowed }: Generator,
  request: InferRequest,
  pause: () => Promise<void>,
): Promise<InferResult> {
  const { temperature = 0, topP = 1, seed = 0, maxTokens } = request;
  const prompt = tokenizer.promptTokens(request, promptStyle);
  const room = context - prompt.length;
  if (room < 1) {
    throw new KitError(
      "REQUEST_INVALID",
      `Shorten the prompt: its ${prompt.length} tokens leave no room for an answer in the model's context of ${context}.`,
    );
  }
  const limit = Math.min(room, maxTokens ?? room);
  const random = createRandom(seed, "sample");
  const reading = decoder();
  const tokens: number[] = [];
  await pause();
  let logits = reading.read(prompt);
  for (;;) {
    // A callback for each of 100,000 tokens would take a quarter of the model's time.
    assertTelling(logits);
    for (let id = 0; id < logits.length; id++) if (allowed[id] !== 1) logits[id] = -Infinity;
    const token = sample(logits, { temperature, topP }, random);
    if (tokenizer.isEnd(token))
      return { text: tokenizer.decode(tokens), finishReason: "stop", tokens: tokens.length };
    tokens.push(token);
    if (tokens.length === limit) break;
    await pause();
    logits = reading.read([token]);
  }
  return { text: tokenizer.decode(tokens), finishReason: "length", tokens: tokens.length };
}

/**
 * An overflow shows as logits that are not finite or, behind a norm of infinite numbers, all the same.
 * @throws KitError `CHECKPOINT_INVALID`
 */
function assertTelling(logits: Float32Array): void {
  let lowest = Infinity;
  let highest = -Infinity;
  let isFinite = true;
  for (const logit of logits) {
    if (logit < lowest) lowest = logit;
    if (logit > highest) highest = logit;
    isFinite &&= Number.isFinite(logit);
  }
  if (isFinite && lowest < highest) return;
  throw new KitError(
    "CHECKPOINT_INVALID",
    "The model computes numbers that are not finite: its weights are too large. Use an earlier checkpoint, or train again with a lower learningRate.",
  );
}
