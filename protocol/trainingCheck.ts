import type { EventData } from "./event.ts";

/** A part of a row as the model sees it. */
export interface Piece {
  text: string;
  /** Whether the model learns it from what comes before. */
  isLearned: boolean;
  /** Whether it is a token that no text can spell, such as `<|user|>`. */
  isSpecial: boolean;
}

/** A forecast of a training, made without training. */
export interface TrainingCheck {
  /** As the training would report it. */
  started: EventData["training.started"];
  /** Tokens of one pass that are learned, a count. */
  learnedTokens: number;
  /** Tokens of the longest row as it is written, before it is cut. */
  longestRow: number;
  /** Memory that the training takes, in bytes; the dataset's own comes on top. */
  memoryBytes: number;
  /** The first row, cut as in training. */
  firstRow: Piece[];
}
