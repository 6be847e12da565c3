import type { Example, ExampleSet } from "../examples/examples.ts";
import {
  type Batch,
  type SumAndCount,
  type Objective,
  type ExampleLogProbs,
  addMeans,
} from "../objectives/objective.ts";
import { type Backend, type Late, type LogProbs, numberOf } from "./backend.ts";
import { batchesOnce } from "./batches.ts";
import type { Reference } from "./reference.ts";

/** What is needed to compute a step. */
export interface StepContext {
  backend: Backend;
  objective: Objective;
  reference: Reference;
  /** Maximum tokens of a sequence. */
  maxLength: number;
}

export interface StepResult {
  /** Mean over the objective's units in all batches, in nats; NaN without any. */
  loss: number;
  gradNorm: number;
  metrics: Record<string, SumAndCount>;
}

/** Waits for a step's result. */
export type StepOutcome = () => Promise<StepResult>;

/** Accumulates a step's gradients; doesn't update the weights. @returns called once */
export async function backpropagateStep(
  context: StepContext,
  batches: readonly (readonly Example[])[],
): Promise<StepOutcome> {
  const { backend, objective } = context;
  const units = unitsIn(objective, batches.flat());
  const metrics: Record<string, SumAndCount> = {};
  // Nothing to learn.
  let loss = units === 0 ? NaN : 0;
  const late: Late[] = [];
  for (const [i, examples] of batches.entries()) {
    if (objective.weight !== undefined) {
      late.push(await backend.backpropagate(examples, objective.weight / units, i > 0));
      continue;
    }
    const { batch, reference } = await prepareBatch(context, examples);
    const weigh = (logProbs: LogProbs, from: number) => {
      const microBatch = examples.slice(from, from + logProbs.length);
      const result = objective.computeLoss(
        withLogProbs(microBatch, logProbs, reference.slice(from)),
        batch,
      );
      loss += result.loss / units;
      addMeans(metrics, result.metrics);
      return result.weights.map((row) =>
        row.map((weights) => weights.map((weight) => weight / units)),
      );
    };
    await backend.backpropagate(examples, weigh, i > 0);
  }
  const norm = await backend.gradNorm();
  return async () => {
    const [gradNorm = NaN, ...losses] = await Promise.all([norm, ...late].map(numberOf));
    return { loss: losses.reduce((sum, value) => sum + value, loss), gradNorm, metrics };
  };
}

/** Loss and metrics of one batch, as sums, without gradients. */
export async function measureBatch(
  context: StepContext,
  examples: readonly Example[],
): Promise<{ loss: SumAndCount; metrics: Record<string, SumAndCount> }> {
  const { backend, objective } = context;
  const { batch, reference } = await prepareBatch(context, examples);
  const logProbs = await backend.logProbs(examples, { usesAdapter: true });
  const { loss, metrics } = objective.computeLoss(
    withLogProbs(examples, logProbs, reference),
    batch,
  );
  return { loss: { sum: loss, count: unitsIn(objective, examples) }, metrics };
}

function unitsIn({ unitsOf }: Objective, examples: readonly Example[]): number {
  return examples.reduce((sum, example) => sum + unitsOf(example), 0);
}

/** Computes the reference model's log probabilities and the KL examples of a batch. */
async function prepareBatch(
  { backend, objective, reference, maxLength }: StepContext,
  examples: readonly Example[],
): Promise<{ batch: Batch; reference: readonly (readonly number[])[] }> {
  if (!objective.needsReference) return { batch: { examples, klExamples: [] }, reference: [] };
  const extra = objective.klExamples?.build(examples, maxLength) ?? [];
  const all = await reference.sumsOf([...examples, ...extra]);
  const logProbs = extra.length > 0 ? await backend.logProbs(extra, { usesAdapter: true }) : [];
  const klExamples = withLogProbs(extra, logProbs, all.slice(examples.length));
  return { batch: { examples, klExamples }, reference: all.slice(0, examples.length) };
}

function withLogProbs(
  examples: readonly Example[],
  logProbs: LogProbs,
  reference: readonly (readonly number[])[],
): ExampleLogProbs[] {
  return examples.map((example, i) => ({
    ...example,
    logProbs: logProbs[i] ?? [],
    reference: reference[i] ?? [],
  }));
}

export interface EvaluationResult {
  /** Mean over all of the objective's units, in nats. */
  evalLoss: number;
  metrics: Record<string, SumAndCount>;
}

/**
 * Evaluates all examples. The result doesn't depend on the batch size.
 * @param rows of a batch
 */
export async function evaluate(
  context: StepContext,
  examples: ExampleSet,
  rows: number,
): Promise<EvaluationResult> {
  const total = { sum: 0, count: 0 };
  const metrics: Record<string, SumAndCount> = {};
  for (const batch of batchesOnce(examples, rows)) {
    const measured = await measureBatch(context, batch);
    total.sum += measured.loss.sum;
    total.count += measured.loss.count;
    addMeans(metrics, measured.metrics);
  }
  return { evalLoss: total.sum / total.count, metrics };
}
