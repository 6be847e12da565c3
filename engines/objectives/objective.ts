import type { RowForm } from "../dataset/rowForm.ts";
import type { Example } from "../examples/examples.ts";
import type { Span, Tokenizer } from "../tokens/tokenizer.ts";

/**
 * What a training learns from its rows, in a file: the forms of the rows, the sequences that a row
 * becomes, how much each learned token counts, and what is logged besides the loss.
 */
export interface Objective<Row extends object = object> {
  form: RowForm<Row>;
  /** The sequences that a row becomes, however long; they are never split between parts of a batch. */
  sequencesOf(row: Row, tokenizer: Tokenizer): readonly (readonly Span[])[];
  /** Whether a row needs each of its sequences, as a pair does. Others go without those that do not fit. */
  needsAll?: boolean;
  /** What a step's loss is the mean of, in an example: its learned tokens, or 1; a count. */
  unitsOf: (example: Example) => number;
  /**
   * Set if each learned token counts the same, whatever its probability: then the gradients need no
   * pass before them.
   */
  weight?: number;
  /** Whether it compares with the reference: the model before the training, its adapter turned off. */
  needsReference?: boolean;
  /** Of a batch, whose log probabilities are known before any gradient is. */
  score: (batch: readonly ScoredExample[]) => Score;
  /** The names of its metrics, and which way each is better. */
  metrics: Record<string, "higher" | "lower">;
}

/** An example and, for each of its sequences, the log probabilities of its learned tokens in nats. */
export interface ScoredExample extends Example {
  logProbs: readonly Float32Array[];
  /** Those of the reference, for an objective that needs them. */
  reference: readonly Float32Array[];
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
