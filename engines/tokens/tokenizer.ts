import type { ToolCall } from "../../protocol/chat.ts";
import type { InferRequest } from "../../protocol/infer.ts";
import type { Row } from "../dataset/row.ts";
import type { Markup } from "./markup.ts";
import type { Part } from "./unwritten.ts";

/** How a model reads a bare prompt: as a user's message, or as the start of a text. */
export type PromptStyle = "message" | "text";

/** Consecutive tokens: either all are learned from those before them, or none. */
export interface Span {
  tokens: Uint8Array | Uint16Array | Uint32Array;
  isLearned: boolean;
}

/** How a model reads rows and prompts, and writes text. */
export interface Tokenizer {
  /** Every id is below it. */
  vocabulary: number;
  /** Whether a chat template marks each turn's role. Without one, a conversation is just its contents. */
  hasTemplate: boolean;
  /**
   * A row as the model sees it, however long: one sequence, or one for each answer where the chat
   * template rewrites earlier turns.
   * @throws KitError `DATASET_INVALID`
   */
  sequencesOf: (row: Row) => readonly (readonly Span[])[];
  /**
   * The tokens before an answer's; an answer begun is to be continued.
   * @param begun more of it. Default: none.
   * @throws KitError
   */
  promptTokens: (request: InferRequest, style: PromptStyle, begun?: string) => number[];
  /**
   * The text of tokens without the specials. Malformed bytes become U+FFFD; a character that is cut
   * off at the end is dropped.
   */
  decode: (tokens: readonly number[]) => string;
  /** UTF-8 of a token's text, which it adds to an answer. A special has the text that it is written as. */
  bytesOf: (token: number) => Uint8Array;
  /** Whether an answer leaves out a space that its first token begins with, as sentencepiece writes it. */
  dropsSpace: boolean;
  /**
   * What the chat template writes for an answer that is calls of tools, up to its end.
   * @returns undefined for a template that does not write them
   */
  callsText: (calls: readonly ToolCall[]) => string | undefined;
  markup: Markup;
  /** Whether the chat template leaves a part of messages out without a word. */
  isUnwritten: (part: Part) => boolean;
  /** Whether the chat template reads a variable. */
  readsVariable: (name: string) => boolean;
  /** The text of tokens with the specials, for people. */
  show: (tokens: readonly number[]) => string;
  /** Whether no text can spell it. */
  isSpecial: (token: number) => boolean;
  /** The tokens at which answers stop. */
  ends: readonly number[];
  /** Whether it is one of them. */
  isEnd: (token: number) => boolean;
  /**
   * The same at the time at which a chat template is to write the date. Default: its model's, or that of
   * each rendering. Undefined where none writes it.
   */
  at?: (date: Date) => Tokenizer;
  /** Whether an answer is made of it. */
  isSpoken: (token: number) => boolean;
}
