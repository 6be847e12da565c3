import type { EventData } from "./event.ts";

/** A part of a row as the model sees it. */
export interface Segment {
  text: string;
  /** Whether the model learns it from what comes before. */
  isLearned: boolean;
  /** Whether it is a token that no text can spell, such as `<|user|>`. */
  isSpecial: boolean;
  /** Set if a training makes it less likely, as a rejected answer. */
  isAvoided?: true | undefined;
}

/** How many rows, and the first with the row that it repeats, each as file and line. */
export interface RepeatedRows {
  rows: number;
  first?: [before: string, again: string];
}

/** What a dataset has. */
export interface DatasetReport {
  /** Counts of rows by the names that they have: `{prompt, completion}`. */
  forms: Record<string, number>;
  /** Tokens of rows as they are written, before any is cut. `p95`: 95 % have no more. */
  tokens: { least: number; median: number; p95: number; most: number };
  /** Rows whose tokens an earlier row has. */
  duplicates: RepeatedRows;
  /** Rows of `evalDataset` that are trained on, too. */
  leaked?: RepeatedRows;
  /** How often each answer occurs, the most frequent first, where there are few kinds. */
  answers?: { text: string; count: number }[];
  /** Answers that look like JSON, where most do, and how many of them do not parse. */
  json?: { answers: number; broken: number; first?: string };
}

/** A row, or a piece of a long text, that a model finds hard to predict. */
export interface HardRow {
  /** File and line. */
  where: string;
  /** The mean of its learned tokens, in nats. */
  loss: number;
  /** Cut as in training. */
  row: Segment[];
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
  /** Missing where the engine does not look. */
  dataset?: DatasetReport;
  /** With `loss`: the five with the highest loss under the starting model, the highest first. */
  hardest?: HardRow[];
  /** The first row, cut as in training. */
  firstRow: Segment[];
}
