import { type Conversation, type Message, isLearned } from "../../protocol/chat.ts";
import { KitError } from "../../protocol/error.ts";
import type { Render } from "./chatTemplate.ts";

/** A token and the part of the text that it covers. */
export interface TokenText {
  id: number;
  /** Bytes of text that the token covers. */
  bytes: number;
  /** Leading white space that the token's offsets exclude, in bytes. */
  leading: number;
  /** Trailing white space that the token's offsets exclude, in bytes. */
  trailing: number;
}

interface Options {
  render: Render;
  encode: (text: string) => TokenText[];
  stopTokens: ReadonlySet<number>;
}

/** A sequence's tokens, and which are learned. */
export interface MaskedTokens {
  ids: number[];
  learned: boolean[];
}

/**
 * The tokens of a conversation, and which are learned: each answer up to and including its stop token, which the
 * template may write as the next turn's first token. Each answer is found by rendering the conversation without and
 * with it. Tokens that straddle an answer's start aren't learned.
 * @returns one sequence, or one for each answer if the template rewrites earlier turns
 * @throws KitError `DATASET_INVALID` for a template whose generation prompt doesn't begin the answer, and those of
 * `assertHasPrompt` and `render`
 */
export function answerMasks(conversation: Conversation, options: Options): MaskedTokens[] {
  const { messages } = conversation;
  assertHasPrompt(messages);
  const answers = messages.flatMap((message, turn) => (isLearned(message) ? [turn] : []));
  const whole = maskOf(conversation, answers, options);
  if (whole) return [whole];
  return answers.map((turn) => {
    const part = { ...conversation, messages: messages.slice(0, turn + 1) };
    const masked = maskOf(part, [turn], options);
    if (!masked) throw templateRewrites();
    return masked;
  });
}

/** @returns undefined if the template rewrites earlier turns */
function maskOf(
  conversation: Conversation,
  answers: readonly number[],
  { render, encode, stopTokens }: Options,
): MaskedTokens | undefined {
  const { messages } = conversation;
  const text = render(conversation);
  const upTo = (turn: number, addGenerationPrompt?: boolean) =>
    render({ ...conversation, messages: messages.slice(0, turn) }, addGenerationPrompt);
  const spans: [prompt: string, withAnswer: string][] = [];
  for (const turn of answers) {
    const prompt = upTo(turn, true);
    const withAnswer = turn + 1 === messages.length ? text : upTo(turn + 1);
    if (!text.startsWith(withAnswer) || !withAnswer.startsWith(prompt)) return undefined;
    spans.push([prompt, withAnswer]);
  }
  return maskAnswers(text, spans, { encode, stopTokens });
}

/**
 * A text's tokens, of which the answers are learned.
 * @param spans for each answer, the text before it and the text with it
 */
export function maskAnswers(
  text: string,
  spans: readonly (readonly [prompt: string, withAnswer: string])[],
  { encode, stopTokens }: Omit<Options, "render">,
): MaskedTokens {
  const tokens = encode(text);
  const learned = tokens.map(() => false);
  const starts: number[] = [];
  let length = 0;
  for (const { bytes } of tokens) {
    starts.push(length);
    length += bytes;
  }
  // Counted in tokens' bytes, because normalization changes the text's length.
  const bytesOf = (part: string) =>
    part === text ? length : encode(part).reduce((sum, { bytes }) => sum + bytes, 0);
  for (const [prompt, withAnswer] of spans) {
    const [begin, end] = [bytesOf(prompt), bytesOf(withAnswer)];
    for (const [i, { id, bytes, leading, trailing }] of tokens.entries()) {
      const start = starts[i] ?? 0;
      const [textStart, textEnd] = [start + leading, start + bytes - trailing];
      if (textStart < begin || textEnd <= begin) continue;
      learned[i] = textEnd <= end || (textStart >= end && stopTokens.has(id));
      if (textEnd > end || stopTokens.has(id)) break;
    }
  }
  return { ids: tokens.map(({ id }) => id), learned };
}

/**
 * An answer that comes first has an empty prompt, which `transformers` can't render.
 * @throws KitError `DATASET_INVALID` if the first message is an answer
 */
export function assertHasPrompt([first]: readonly Message[]): void {
  if (first?.role !== "assistant") return;
  throw new KitError(
    "DATASET_INVALID",
    "A conversation starts with an assistant message. Add a user or system message before it.",
  );
}

function templateRewrites(): KitError {
  return new KitError(
    "DATASET_INVALID",
    "The model's chat template doesn't begin an assistant message with its generation prompt, so Kit can't tell the answer from the prompt. Use a model with another template.",
  );
}
