import type { TrainConfig } from "../../protocol/trainConfig.ts";
import type { KnownSums } from "../checkpoint/referenceFile.ts";
import { type Example, digestOf } from "../examples/examples.ts";
import { sum } from "../objectives/reward.ts";
import type { Awaitable, Backend } from "./backend.ts";
import { batchesOnce, createFeed } from "./order.ts";
import type { Learning } from "./step.ts";
import type { TrainingData } from "./trainingData.ts";

/** [example][sequence], the sum of a sequence's learned tokens, in nats */
type Sums = readonly (readonly number[])[];

/** The log probabilities that the model before the training gives to examples. Each is computed once. */
export interface Reference {
  of: (examples: readonly Example[]) => Awaitable<Sums>;
  /** All so far, by their content. */
  known: () => KnownSums;
}

/**
 * By a backend whose weights, or whose base, are still those of before the training.
 * @param known of an earlier job
 */
export function createReference(backend: Backend, known: KnownSums = new Map()): Reference {
  const all = new Map(known);

  async function of(examples: readonly Example[]): Promise<Sums> {
    const keys = examples.map(keyOf);
    const missing = examples.filter((_, i) => !all.has(keys[i] ?? ""));
    if (missing.length > 0) {
      const logProbs = await backend.logProbs(missing, { usesAdapter: false });
      for (const [i, example] of missing.entries()) {
        all.set(keyOf(example), logProbs[i]?.map(sum) ?? []);
      }
    }
    return keys.map((key) => all.get(key) ?? []);
  }

  return { of, known: () => all };
}

/** The batches that a training still has before it. */
interface Ahead {
  config: TrainConfig;
  data: TrainingData;
  /** Rows that were taken before. */
  skipped: number;
  /** A count. */
  steps: number;
}

/** Computes all that a training will ask of it, before the first step changes the weights. */
export async function fillReference(
  { objective, reference, maxLength }: Pick<Learning, "objective" | "reference" | "maxLength">,
  { config, data, skipped, steps }: Ahead,
  onNote: (text: string) => void = () => {},
): Promise<void> {
  onNote("computing how likely the answers are before the training");
  const next = createFeed(data.training.examples, config.batchSize, config.seed, skipped);
  const ask = (batch: readonly Example[]) =>
    reference.of([...batch, ...(objective.mismatches?.of(batch, maxLength) ?? [])]);
  for (let step = 0; step < steps; step++) {
    for (let i = 0; i < config.gradientAccumulationSteps; i++) await ask(next());
  }
  const { examples } = data.evaluation ?? {};
  if (!examples) return;
  for (const batch of batchesOnce(examples, config.batchSize)) await ask(batch);
}

function keyOf({ sequences }: Example): string {
  return digestOf(sequences.flatMap(({ tokens, learned }) => [Uint32Array.from(tokens), learned]));
}
