import type { EventData } from "./event.ts";

/** A segment of a row as the model sees it. */
export interface Segment {
  text: string;
  /** Whether the model learns it. */
  isLearned: boolean;
  /** Whether it is a special token, such as `<|user|>`. */
  isSpecial: boolean;
  /** Set if training makes it less likely, as for a rejected answer. */
  isAvoided?: true | undefined;
}

/** The number of repeated rows, and the first pair as file and line. */
export interface RepeatedRows {
  rows: number;
  first?: [before: string, again: string];
}

/** Statistics of a dataset. */
export interface DatasetReport {
  /** Number of rows by format: `{prompt, completion}`. */
  forms: Record<string, number>;
  /** Row lengths in tokens, before truncation. `p95`: 95th percentile. */
  tokens: { least: number; median: number; p95: number; most: number };
  /** Rows with the same tokens as an earlier one. */
  duplicates: RepeatedRows;
  /** Rows of `evalDataset` that are also trained on. */
  leaked?: RepeatedRows;
  /** Counts of answers, most frequent first, if there are few different ones. */
  answers?: { text: string; count: number }[];
  /** Answers that look like JSON, if most do, and how many don't parse. */
  json?: { answers: number; broken: number; first?: string };
}

/** A row, or a chunk of a long text, that a model predicts badly. */
export interface HardRow {
  /** File and line. */
  where: string;
  /** Mean loss of its learned tokens, in nats. */
  loss: number;
  /** Truncated as in training. */
  row: Segment[];
}

/** A forecast of a training run, made without training. */
export interface TrainingCheck {
  /** The run's start event. */
  started: EventData["training.started"];
  /** Learned tokens per epoch. */
  learnedTokens: number;
  /** Tokens of the longest row, before truncation. */
  longestRow: number;
  /** Memory for training in bytes, without the dataset. */
  memoryBytes: number;
  /** Set if that is a GPU's own memory, which has room. */
  onGpu?: true | undefined;
  /** Missing if the engine does not inspect the dataset. */
  dataset?: DatasetReport;
  /** With `loss`: the five rows with the highest loss under the starting model, highest first. */
  hardest?: HardRow[];
  /** The first row, truncated as in training. */
  firstRow: Segment[];
}
