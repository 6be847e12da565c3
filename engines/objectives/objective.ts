import type { RowFormat } from "../dataset/rowFormat.ts";
import type { Example, ExampleSet } from "../examples/examples.ts";
import type { Span, Tokenizer } from "../tokens/tokenizer.ts";

/**
 * What a training learns from its rows, in a file: the forms of the rows, the sequences that a row
 * becomes, how much each learned token counts, and what is logged besides the loss.
 */
export interface Objective<Row extends object = object> {
  form: RowFormat<Row>;
  /** The sequences that a row becomes, however long; they are never split between parts of a batch. */
  sequencesOf(row: Row, tokenizer: Tokenizer): readonly (readonly Span[])[];
  /**
   * Whether a row needs each of its sequences, and a difference between them, as a pair does. Others go
   * without those that do not fit.
   */
  needsAll?: boolean;
  /** Whether a row's answer was judged to be bad. Default: none was. */
  isBad?(row: Row): boolean;
  /** Whether training makes this sequence less likely; only for display. Default: it does not. */
  isAvoided?(example: Example, sequence: number): boolean;
  /** What a step's loss is the mean of, in an example: its learned tokens, or 1; a count. */
  unitsOf: (example: Example) => number;
  /**
   * Set if each learned token counts the same, whatever its probability: then the gradients need no
   * pass before them.
   */
  weight?: number;
  /** Whether it compares with the reference: the model before the training, its adapter turned off. */
  needsReference?: boolean;
  /** Makes more sequences of a batch, which are measured and not learned. Default: none. */
  mismatches?: Mismatches;
  /**
   * Of some of a batch's examples, whose log probabilities are known before any gradient is. The
   * examples of a batch may come in several parts.
   */
  score: (examples: readonly ScoredExample[], batch: Batch) => Score;
}

/** Questions of a batch with answers to others, from which nothing is learned. */
export interface Mismatches {
  /** @param most tokens of each */
  of: (batch: readonly Example[], most: number) => Example[];
  /** Tokens of the longest that the examples can make. */
  longestOf: (examples: ExampleSet) => number;
}

/** What each of its examples may be measured by. */
export interface Batch {
  examples: readonly Example[];
  mismatches: readonly ScoredExample[];
}

/** An example and, for each of its sequences, the log probabilities of its learned tokens in nats. */
export interface ScoredExample extends Example {
  logProbs: readonly Float32Array[];
  /** The sums of the reference's, for an objective that needs them. */
  reference: readonly number[];
}

export interface Score {
  /** The sum over all units, in nats. */
  loss: number;
  /** For each example's sequences what each learned token counts: −∂loss/∂(log probability). */
  weights: TokenWeights;
  metrics: Record<string, Mean>;
}

/** [example][sequence][learned token] */
export type TokenWeights = readonly (readonly Float32Array[])[];

/** A mean that others are added to. */
export interface Mean {
  sum: number;
  /** Of a part of something counted, a fraction. */
  count: number;
}

/** Adds the second to the first. */
export function addMeans(to: Record<string, Mean>, added: Record<string, Mean>): void {
  for (const [name, { sum, count }] of Object.entries(added)) {
    const mean = (to[name] ??= { sum: 0, count: 0 });
    mean.sum += sum;
    mean.count += count;
  }
}
