import { KitError } from "../../protocol/error.ts";
import type { ChatMessage } from "../../protocol/infer.ts";
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
  /** Ends an answer. */
  eos: number | undefined;
}

/**
 * The tokens of a conversation, and which are learned: those of the answers, each up to its first
 * end-of-sequence token. Found by rendering turn by turn: what an answer adds to the conversation
 * before it. Tokens that cross the border are not learned.
 * @throws KitError `DATASET_INVALID` for a template that rewrites earlier turns, and as `assertAsked`
 */
export function answerMask(
  messages: readonly ChatMessage[],
  { render, encode, eos }: Options,
): { ids: number[]; learned: boolean[] } {
  assertAsked(messages);
  const text = render(messages);
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

  messages.forEach(({ role }, turn) => {
    if (role !== "assistant") return;
    const opened = render(messages.slice(0, turn), true);
    const closed = turn + 1 === messages.length ? text : render(messages.slice(0, turn + 1));
    if (!text.startsWith(closed) || !closed.startsWith(opened)) throw rewrites();
    const [begin, end] = [bytesOf(opened), bytesOf(closed)];
    for (const [i, { id, bytes, before, after }] of pieces.entries()) {
      const start = starts[i] ?? 0;
      const [first, last] = [start + before, start + bytes - after];
      if (first < begin || last <= begin || last > end) continue;
      learned[i] = true;
      if (id === eos) break;
    }
  });
  return { ids: pieces.map(({ id }) => id), learned };
}

/**
 * `transformers` opens no conversation without a message.
 * @throws KitError `DATASET_INVALID` when the first message is an answer
 */
export function assertAsked([first]: readonly ChatMessage[]): void {
  if (first?.role !== "assistant") return;
  throw new KitError(
    "DATASET_INVALID",
    "A conversation begins with an assistant's message, which answers nothing. Write a user or system message before it.",
  );
}

function rewrites(): KitError {
  return new KitError(
    "DATASET_INVALID",
    "The model's chat template rewrites earlier turns, so its answers cannot be told apart. Write one answer per row, or use a model with another template.",
  );
}
