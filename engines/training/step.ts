import type { Example, ExampleSet } from "../examples/examples.ts";
import {
  type Batch,
  type SumAndCount,
  type Objective,
  type ExampleLogProbs,
  addMeans,
} from "../objectives/objective.ts";
import type { Backend, LogProbs } from "./backend.ts";
import { batchesOnce } from "./order.ts";
import type { Reference } from "./reference.ts";

/** Everything that computes steps. */
export interface StepContext {
  backend: Backend;
  objective: Objective;
  reference: Reference;
  /** Maximum tokens of a sequence. */
  maxLength: number;
}

export interface StepResult {
  /** Mean over the units of all batches, in nats; NaN without any. */
  loss: number;
  gradNorm: number;
  metrics: Record<string, SumAndCount>;
}

/** Accumulates a step's gradients; doesn't update the weights. */
export async function backpropagateStep(
  learning: StepContext,
  batches: readonly (readonly Example[])[],
): Promise<StepResult> {
  const { backend, objective } = learning;
  const units = unitsIn(objective, batches.flat());
  const metrics: Record<string, SumAndCount> = {};
  // Nothing to learn.
  if (units === 0) return { loss: NaN, gradNorm: await backend.gradNorm(), metrics };
  let loss = 0;
  for (const [i, examples] of batches.entries()) {
    if (objective.weight !== undefined) {
      loss += await backend.backpropagate(examples, objective.weight / units, i > 0);
      continue;
    }
    const { batch, reference } = await prepareBatch(learning, examples);
    const weigh = (logProbs: LogProbs, from: number) => {
      const microBatch = examples.slice(from, from + logProbs.length);
      const result = objective.computeLoss(
        scored(microBatch, logProbs, reference.slice(from)),
        batch,
      );
      loss += result.loss / units;
      addMeans(metrics, result.metrics);
      return result.weights.map((row) => row.map((weights) => weights.map((one) => one / units)));
    };
    await backend.backpropagate(examples, weigh, i > 0);
  }
  return { loss, gradNorm: await backend.gradNorm(), metrics };
}

/** Loss and metrics of one batch, as sums, without gradients. */
export async function measureBatch(
  learning: StepContext,
  examples: readonly Example[],
): Promise<{ loss: SumAndCount; metrics: Record<string, SumAndCount> }> {
  const { backend, objective } = learning;
  const { batch, reference } = await prepareBatch(learning, examples);
  const logProbs = await backend.logProbs(examples, { usesAdapter: true });
  const { loss, metrics } = objective.computeLoss(scored(examples, logProbs, reference), batch);
  return { loss: { sum: loss, count: unitsIn(objective, examples) }, metrics };
}

function unitsIn({ unitsOf }: Objective, examples: readonly Example[]): number {
  return examples.reduce((sum, example) => sum + unitsOf(example), 0);
}

/** Computes what a batch's examples are compared with. */
async function prepareBatch(
  { backend, objective, reference, maxLength }: StepContext,
  examples: readonly Example[],
): Promise<{ batch: Batch; reference: readonly (readonly number[])[] }> {
  if (!objective.needsReference) return { batch: { examples, klExamples: [] }, reference: [] };
  const others = objective.klExamples?.build(examples, maxLength) ?? [];
  const all = await reference.of([...examples, ...others]);
  const logProbs = others.length > 0 ? await backend.logProbs(others, { usesAdapter: true }) : [];
  const klExamples = scored(others, logProbs, all.slice(examples.length));
  return { batch: { examples, klExamples }, reference: all.slice(0, examples.length) };
}

function scored(
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
  /** Mean over all units, in nats. */
  evalLoss: number;
  metrics: Record<string, SumAndCount>;
}

/**
 * Evaluates all examples. The result doesn't depend on the batch size.
 * @param rows of a batch
 */
export async function evaluate(
  learning: StepContext,
  examples: ExampleSet,
  rows: number,
): Promise<EvaluationResult> {
  const all = { sum: 0, count: 0 };
  const metrics: Record<string, SumAndCount> = {};
  for (const batch of batchesOnce(examples, rows)) {
    const measured = await measureBatch(learning, batch);
    all.sum += measured.loss.sum;
    all.count += measured.loss.count;
    addMeans(metrics, measured.metrics);
  }
  return { evalLoss: all.sum / all.count, metrics };
}
