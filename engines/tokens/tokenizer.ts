import type { ToolCall } from "../../protocol/chat.ts";
import type { InferRequest } from "../../protocol/infer.ts";
import type { Row } from "../dataset/row.ts";
import type { Part } from "./droppedParts.ts";
import type { Markup } from "./markup.ts";

/** How a model reads a bare prompt: as a user message, or as text to continue. */
export type PromptStyle = "message" | "text";

/** Consecutive tokens of which all are learned, or none. */
export interface Span {
  tokens: Uint8Array | Uint16Array | Uint32Array;
  isLearned: boolean;
}

/** How a model reads rows and prompts, and writes text. */
export interface Tokenizer {
  /** All token ids are below this. */
  vocabulary: number;
  /** Whether there is a chat template. Without one, a conversation is just its messages' contents. */
  hasTemplate: boolean;
  /**
   * A row as the model sees it, untruncated: one sequence, or one for each answer if the chat template
   * rewrites earlier turns.
   * @throws KitError `DATASET_INVALID`
   */
  sequencesOf: (row: Row) => readonly (readonly Span[])[];
  /**
   * The prompt's tokens. A final assistant message is left unfinished, for the answer to continue.
   * @param answerStart appended to the prompt. Default: none.
   * @throws KitError
   */
  promptTokens: (request: InferRequest, style: PromptStyle, answerStart?: string) => number[];
  /**
   * Decodes tokens, skipping special tokens. Malformed bytes become U+FFFD; an incomplete character at the
   * end is dropped.
   */
  decode: (tokens: readonly number[]) => string;
  /** UTF-8 of the text that a token adds to an answer; for a special token, its own text. */
  bytesOf: (token: number) => Uint8Array;
  /** Whether an answer drops its first token's leading space, as in SentencePiece. */
  dropsSpace: boolean;
  /**
   * An answer of tool calls as the chat template writes it, up to its stop token.
   * @returns undefined for a template without tool calls
   */
  callsText: (calls: readonly ToolCall[]) => string | undefined;
  markup: Markup;
  /** Whether the chat template silently drops this part of messages. */
  isDropped: (part: Part) => boolean;
  /** Whether the chat template reads a variable. */
  readsVariable: (name: string) => boolean;
  /** The text of tokens, including special tokens, for display. */
  show: (tokens: readonly number[]) => string;
  /** Whether a token is special or added. */
  isSpecial: (token: number) => boolean;
  stopTokens: readonly number[];
  isStopToken: (token: number) => boolean;
  /**
   * The tokenizer with a fixed date for the chat template. Otherwise it is the model's `template_date`, or the
   * current date. Undefined for a template without a date.
   */
  at?: (date: Date) => Tokenizer;
  /** Whether answers may contain the token. */
  isTextToken: (token: number) => boolean;
}
