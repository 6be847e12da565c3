import type { DatasetRow } from "./dataset.ts";
import type { LoadOptions } from "./engine.ts";

/** What a model answered to a row of a dataset. */
export interface Answered {
  /** As the dataset has it. */
  row: DatasetRow;
  /** What was asked: the prompt, or the last message before the answer. */
  input: string;
  /** The model's answer. */
  output: string;
  /** The row's own answer. */
  expected: string;
}

/** What scorers of other libraries return, such as those of `autoevals`. */
export interface Score {
  /** Ignored: the trainer names its metrics. Default: none. */
  name?: string;
  /** From 0 to 1; null for an answer that has none. */
  // eslint-disable-next-line no-restricted-syntax -- As autoevals writes it.
  score: number | null;
}

type Scored = number | boolean | Score;

/**
 * Scores an answer, mostly from 0 to 1; `true` is 1. The figure is the mean over all answers.
 * @example ({ output, expected }) => output.trim() === expected
 */
export interface ScoreAnswer {
  (answered: Answered): Scored | Promise<Scored>;
  /** Scores of an answer's parts by their names, as of `jsonFields`: `kit eval` has a figure of each. */
  parts?: (answered: Answered) => Record<string, number>;
}

/** Figures over all answers at once, instead of a mean of scores. */
export interface SetMetric {
  /** By what comes after the metric's own name; `""` is the figure of that name. */
  ofAll: (answers: readonly Answered[]) => Record<string, number>;
}

/** How good answers are. */
export type Metric = ScoreAnswer | SetMetric;

/** Metrics by the names of their figures. */
export type Metrics = Record<string, Metric>;

/** How to evaluate a trainer's model on rows that it is not trained on. */
export interface EvaluateOptions {
  /** What the answers are scored by, by the names of the figures. */
  metrics: Metrics;
  /** Rows at most, which the seed chooses; a count. Default: 100. */
  rows?: number;
  /** Tokens of an answer at most. Default: what the longest answer of the rows needs, and a quarter more. */
  maxTokens?: number;
  /** Default: 0, the likeliest answer. */
  temperature?: number;
}

/** Rows that a training does not learn from. */
export interface HeldOutQuestions {
  /** In their order. */
  rows: DatasetRow[];
  /** All that could have been chosen, a count. */
  of: number;
  /** Those beside them that cannot be asked, a count. */
  unasked: number;
  /** Enough for any of their answers: tokens of the longest, and a quarter more. */
  maxTokens: number;
  /** Where an answer ends: before the model's own token for it, in a row that was rendered before. */
  endOf: (answer: string) => number;
}

/** How to choose them. */
export interface QuestionChoice extends LoadOptions {
  /** Rows at most. */
  maxRows: number;
  /** Whether a row can be asked. */
  hasQuestion: (row: DatasetRow) => boolean;
}

/** Names of figures of the trainer's making, which are shown as they are. */
export const FIGURE_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
