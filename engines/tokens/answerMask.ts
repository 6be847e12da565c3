import { type Conversation, type Message, isLearned } from "../../protocol/chat.ts";
import { KitError } from "../../protocol/error.ts";
import type { Render } from "./chatTemplate.ts";

/** A token, and the bytes of the text that it stands for. */
export interface TokenText {
  id: number;
  /** Number of its bytes. */
  bytes: number;
  /** Leading bytes of white space, which the token's offsets leave out. */
  before: number;
  /** Trailing bytes of white space, as above. */
  after: number;
}

interface Options {
  render: Render;
  encode: (text: string) => TokenText[];
  /** The tokens at which answers stop. */
  ends: ReadonlySet<number>;
}

/** Tokens, and which are learned. */
export interface Masked {
  ids: number[];
  learned: boolean[];
}

/**
 * The tokens of a conversation, and which are learned: those of the answers, each up to the first
 * token at which answers stop, which may be the next turn's first. Found by rendering turn by turn: what an answer adds to the conversation
 * before it. Tokens that cross the border are not learned.
 * @returns one sequence; or, for a template that rewrites earlier turns, one for each answer, as the
 * model sees it
 * @throws KitError `DATASET_INVALID` for a template that rewrites an opened turn, and as `assertAsked`
 */
export function answerMasks(conversation: Conversation, options: Options): Masked[] {
  const { messages } = conversation;
  assertAsked(messages);
  const answers = messages.flatMap((message, turn) => (isLearned(message) ? [turn] : []));
  const whole = maskOf(conversation, answers, options);
  if (whole) return [whole];
  return answers.map((turn) => {
    const part = { ...conversation, messages: messages.slice(0, turn + 1) };
    const masked = maskOf(part, [turn], options);
    if (!masked) throw rewrites();
    return masked;
  });
}

/** @returns undefined where the template writes an answer otherwise than what came before it */
function maskOf(
  conversation: Conversation,
  answers: readonly number[],
  { render, encode, ends }: Options,
): Masked | undefined {
  const { messages } = conversation;
  const text = render(conversation);
  const upTo = (turn: number, opens?: boolean) =>
    render({ ...conversation, messages: messages.slice(0, turn) }, opens);
  const borders: [opened: string, closed: string][] = [];
  for (const turn of answers) {
    const opened = upTo(turn, true);
    const closed = turn + 1 === messages.length ? text : upTo(turn + 1);
    if (!text.startsWith(closed) || !closed.startsWith(opened)) return undefined;
    borders.push([opened, closed]);
  }
  return markAnswers(text, borders, { encode, ends });
}

/**
 * A text's tokens, of which answers are learned.
 * @param borders the beginnings of the text before each answer, and with it
 */
export function markAnswers(
  text: string,
  borders: readonly (readonly [opened: string, closed: string])[],
  { encode, ends }: Omit<Options, "render">,
): Masked {
  const pieces = encode(text);
  const learned = pieces.map(() => false);
  const starts: number[] = [];
  let length = 0;
  for (const { bytes } of pieces) {
    starts.push(length);
    length += bytes;
  }
  const bytesOf = (part: string) =>
    part === text ? length : encode(part).reduce((sum, { bytes }) => sum + bytes, 0);
  for (const [opened, closed] of borders) {
    const [begin, end] = [bytesOf(opened), bytesOf(closed)];
    for (const [i, { id, bytes, before, after }] of pieces.entries()) {
      const start = starts[i] ?? 0;
      const [first, last] = [start + before, start + bytes - after];
      if (first < begin || last <= begin) continue;
      learned[i] = last <= end || (first >= end && ends.has(id));
      if (last > end || ends.has(id)) break;
    }
  }
  return { ids: pieces.map(({ id }) => id), learned };
}

/**
 * `transformers` opens no conversation without a message.
 * @throws KitError `DATASET_INVALID` when the first message is an answer
 */
export function assertAsked([first]: readonly Message[]): void {
  if (first?.role !== "assistant") return;
  throw new KitError(
    "DATASET_INVALID",
    "A conversation begins with an assistant's message, which answers nothing. Write a user or system message before it.",
  );
}

function rewrites(): KitError {
  return new KitError(
    "DATASET_INVALID",
    "The model's chat template rewrites the turn that it opens, so an answer cannot be told from its question. Use a model with another template.",
  );
}
