import type { DatasetRow } from "./dataset.ts";
import type { LoadOptions } from "./engine.ts";

/** A model's answer to a dataset row. */
export interface Answered {
  /** The dataset's row. */
  row: DatasetRow;
  /** The prompt, or the last message before the answer. */
  input: string;
  /** The model's answer. */
  output: string;
  /** The row's own answer. */
  expected: string;
}

/** The result of other libraries' scorers, such as `autoevals`. */
export interface Score {
  /** Ignored: the trainer names its metrics. Default: none. */
  name?: string;
  /** From 0 to 1; null for an answer without a score. */
  // eslint-disable-next-line no-restricted-syntax -- As autoevals writes it.
  score: number | null;
}

type Scored = number | boolean | Score;

/**
 * Scores an answer, usually from 0 to 1; `true` is 1. The metric is the mean over all answers.
 * @example ({ output, expected }) => output.trim() === expected
 */
export interface ScoreAnswer {
  (answered: Answered): Scored | Promise<Scored>;
  /** Scores an answer's parts, by name: `kit eval` shows each. */
  parts?: (answered: Answered) => Record<string, number>;
}

/** A metric over all answers at once, instead of a mean of scores. */
export interface AggregateMetric {
  /** Returns values by name suffix; `""` is the metric's own name. */
  compute: (answers: readonly Answered[]) => Record<string, number>;
}

/** A metric of answers. */
export type Metric = ScoreAnswer | AggregateMetric;

/** Metrics by name. */
export type Metrics = Record<string, Metric>;

/** How to evaluate a model on held-out rows. */
export interface EvaluateOptions {
  /** Metrics by name. */
  metrics: Metrics;
  /** Maximum rows, sampled with the seed. Default: 100. */
  rows?: number;
  /** Maximum tokens per answer. Default: those of the longest answer in the rows, plus 25 %. */
  maxTokens?: number;
  /** Sampling temperature. Default: 0, greedy. */
  temperature?: number;
}

/** Held-out rows to evaluate on. */
export interface HeldOutRows {
  /** In dataset order. */
  rows: DatasetRow[];
  /** Number of rows to choose from. */
  total: number;
  /** Number of other rows, without a text answer. */
  skipped: number;
  /** Tokens of the longest answer, plus 25 %. */
  maxTokens: number;
  /** Offset of an answer's end: before the model's end token, in pre-rendered rows. */
  endOf: (answer: string) => number;
}

/** How to choose held-out rows. */
export interface HeldOutRowsOptions extends LoadOptions {
  /** Maximum rows. */
  maxRows: number;
  /** Whether a row has a text answer to compare with. */
  isEvaluable: (row: DatasetRow) => boolean;
}

/** Names of a trainer's metrics, shown unchanged. */
export const METRIC_NAME_PATTERN = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
