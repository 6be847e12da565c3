import type { RowFormat } from "../dataset/rowFormat.ts";
import type { Example, ExampleSet } from "../examples/examples.ts";
import type { Span, Tokenizer } from "../tokens/tokenizer.ts";

/**
 * What a training run learns from its rows: their format, the sequences of a row, the weight of each learned token, and
 * the metrics besides the loss.
 */
export interface Objective<Row extends object = object> {
  format: RowFormat<Row>;
  /** A row's sequences, of any length; they are never split between micro-batches. */
  sequencesOf(row: Row, tokenizer: Tokenizer): readonly (readonly Span[])[];
  /**
   * Whether to drop a row unless all its sequences fit and differ, as for preference pairs. Otherwise only the sequences
   * that are too long are dropped.
   */
  needsAll?: boolean;
  /** Whether a row's answer is labelled undesirable. Default: no. */
  isUndesirable?(row: Row): boolean;
  /** Whether training makes this sequence less likely; only for display. Default: no. */
  isPenalized?(example: Example, sequence: number): boolean;
  /** Number of units in an example over which the loss is averaged: its learned tokens, or 1. */
  unitsOf: (example: Example) => number;
  /**
   * Weight of every learned token, if it doesn't depend on probabilities; then the backward pass needs no separate
   * forward pass.
   */
  weight?: number;
  /** Whether it needs the reference model: the model before training, without the adapter. */
  needsReference?: boolean;
  /** Default: none. */
  klExamples?: KlExamples;
  /**
   * Scores some of a batch's examples by their log probabilities, before any gradient. A batch may come in several
   * micro-batches.
   */
  computeLoss: (examples: readonly ExampleLogProbs[], batch: Batch) => LossResult;
}

/**
 * Extra examples built from a batch to estimate the KL divergence (KTO): each prompt with another prompt's answer. They
 * are scored but not trained on.
 */
export interface KlExamples {
  /** @param maxLength maximum tokens of each example */
  of: (batch: readonly Example[], maxLength: number) => Example[];
  /** Tokens of the longest possible one. */
  longestOf: (examples: ExampleSet) => number;
}

/** The batch that examples are scored in. */
export interface Batch {
  examples: readonly Example[];
  klExamples: readonly ExampleLogProbs[];
}

/** An example with the log probabilities of each sequence's learned tokens, in nats. */
export interface ExampleLogProbs extends Example {
  logProbs: readonly Float32Array[];
  /** The reference model's summed log probability of each sequence, if the objective needs it. */
  reference: readonly number[];
}

export interface LossResult {
  /** The sum over all units, in nats. */
  loss: number;
  /** Weight of each learned token: −∂loss/∂(log probability). */
  weights: TokenWeights;
  metrics: Record<string, SumAndCount>;
}

/** [example][sequence][learned token] */
export type TokenWeights = readonly (readonly Float32Array[])[];

/** A mean as its sum and count, which can be added to those of others. */
export interface SumAndCount {
  sum: number;
  /** May be a fraction. */
  count: number;
}

/** Adds the second to the first. */
export function addMeans(
  to: Record<string, SumAndCount>,
  added: Record<string, SumAndCount>,
): void {
  for (const [name, { sum, count }] of Object.entries(added)) {
    const mean = (to[name] ??= { sum: 0, count: 0 });
    mean.sum += sum;
    mean.count += count;
  }
}
