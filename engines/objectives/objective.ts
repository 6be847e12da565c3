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
   * Weight of every learned token, if it doesn't depend on probabilities. The backward pass can then directly follow
   * the only forward pass.
   */
  weight?: number;
  /** Whether it needs the reference model: the model before training, without the adapter. */
  needsReference?: boolean;
  /** Default: none. */
  klExamples?: KlExamples;
  /**
   * The loss of a micro-batch, and what its gradient needs, from the log probabilities of its examples.
   * @param batch the whole batch, of which this is a part
   */
  computeLoss: (examples: readonly ExampleLogProbs[], batch: Batch) => LossResult;
}

/**
 * Extra examples built from a batch to estimate the KL divergence (KTO): each prompt with another prompt's answer. They
 * are scored but not trained on.
 */
export interface KlExamples {
  /** @param maxLength maximum tokens of each example */
  build: (batch: readonly Example[], maxLength: number) => Example[];
  /** Length of the longest example that `build` can make from any batch of these, in tokens. */
  maxTokensOf: (examples: ExampleSet) => number;
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

/** A mean as a sum and a count: those of several micro-batches add up. */
export interface SumAndCount {
  sum: number;
  /** A fraction if a micro-batch holds part of a batch that counts as 1. */
  count: number;
}

/** Adds means to those in `totals`. */
export function addMeans(
  totals: Record<string, SumAndCount>,
  added: Record<string, SumAndCount>,
): void {
  for (const [name, { sum, count }] of Object.entries(added)) {
    const mean = (totals[name] ??= { sum: 0, count: 0 });
    mean.sum += sum;
    mean.count += count;
  }
}
