import type { Example } from "../examples/examples.ts";
import { type Mean, type Objective, addMeans } from "../objectives/objective.ts";
import type { Backend, LogProbs } from "./backend.ts";

/** How a step went. */
export interface StepResult {
  /** The mean over the units of all batches, in nats; NaN without any. */
  loss: number;
  gradNorm: number;
  metrics: Record<string, Mean>;
}

/** A step up to its update, which changes no weight: the gradients of its batches, added up. */
export async function backpropagateStep(
  backend: Backend,
  objective: Objective,
  batches: readonly (readonly Example[])[],
): Promise<StepResult> {
  const units = unitsIn(objective, batches.flat());
  const metrics: Record<string, Mean> = {};
  // No gradient, and no mean.
  if (units === 0) return { loss: NaN, gradNorm: await backend.gradNorm(), metrics };
  let loss = 0;
  for (const [i, batch] of batches.entries()) {
    const reference = await referenceOf(backend, objective, batch);
    if (objective.weight !== undefined) {
      loss += await backend.backpropagate(batch, objective.weight / units, i > 0);
      continue;
    }
    const weigh = (logProbs: LogProbs) => {
      const score = objective.score(scored(batch, logProbs, reference));
      loss += score.loss / units;
      addMeans(metrics, score.metrics);
      return score.weights.map((of) => of.map((weights) => weights.map((one) => one / units)));
    };
    await backend.backpropagate(batch, weigh, i > 0);
  }
  return { loss, gradNorm: await backend.gradNorm(), metrics };
}

/** The same figures for one batch, as sums, without training. */
export async function measureBatch(
  backend: Backend,
  objective: Objective,
  batch: readonly Example[],
): Promise<{ loss: Mean; metrics: Record<string, Mean> }> {
  const reference = await referenceOf(backend, objective, batch);
  const logProbs = await backend.logProbs(batch, { usesAdapter: true });
  const { loss, metrics } = objective.score(scored(batch, logProbs, reference));
  return { loss: { sum: loss, count: unitsIn(objective, batch) }, metrics };
}

function unitsIn({ unitsOf }: Objective, examples: readonly Example[]): number {
  return examples.reduce((sum, example) => sum + unitsOf(example), 0);
}

async function referenceOf(
  backend: Backend,
  { needsReference = false }: Objective,
  batch: readonly Example[],
): Promise<LogProbs> {
  return needsReference ? backend.logProbs(batch, { usesAdapter: false }) : [];
}

function scored(batch: readonly Example[], logProbs: LogProbs, reference: LogProbs) {
  return batch.map(({ sequences }, i) => ({
    sequences,
    logProbs: logProbs[i] ?? [],
    reference: reference[i] ?? [],
  }));
}
