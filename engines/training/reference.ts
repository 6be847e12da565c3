import { readFileSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomically } from "../../disk/file.ts";
import type { TrainOptions } from "../../protocol/engine.ts";
import { cannotWrite } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { type Example, digestOf } from "../examples/examples.ts";
import { sum } from "../objectives/reward.ts";
import type { Awaitable, Backend } from "./backend.ts";
import { batchesOnce, createBatchLoader } from "./batches.ts";
import type { Preparation } from "./preparation.ts";

/** [example][sequence]: summed log probability of the learned tokens, in nats */
type Sums = readonly (readonly number[])[];

/** Summed log probabilities of each sequence, by an example's digest. */
type KnownSums = ReadonlyMap<string, readonly number[]>;

/** File of reference log probabilities in a job's directory. */
const REFERENCE_FILE = "reference.json";

/** The reference model's log probabilities, each computed once, when first needed. */
export interface Reference {
  sumsOf: (examples: readonly Example[]) => Awaitable<Sums>;
  /** All sums computed so far. */
  known: () => KnownSums;
}

/**
 * @param backend whose weights, or with an adapter its base's, must still be those before training
 * @param known from an earlier job
 */
export function createReference(backend: Backend, known: KnownSums = new Map()): Reference {
  const all = new Map(known);

  async function sumsOf(examples: readonly Example[]): Promise<Sums> {
    const keys = examples.map(keyOf);
    // A damaged file may have a different number of sums.
    const missing = examples.filter(
      ({ sequences }, i) => all.get(keys[i] ?? "")?.length !== sequences.length,
    );
    if (missing.length > 0) {
      const logProbs = await backend.logProbs(missing, { usesAdapter: false });
      for (const [i, example] of missing.entries()) {
        all.set(keyOf(example), logProbs[i]?.map(sum) ?? []);
      }
    }
    return keys.map((key) => all.get(key) ?? []);
  }

  return { sumsOf, known: () => all };
}

interface ComputeOptions
  extends
    Pick<TrainOptions, "resumeFrom" | "onNote">,
    Pick<Preparation, "config" | "data" | "objective" | "maxLength"> {
  /** The job's directory. */
  directory: string;
  /** Rows that the earlier job trained on. */
  skipped: number;
  /** Remaining steps. */
  steps: number;
}

/**
 * Computes all log probabilities that training will need, before its first update. Reuses an earlier job's results and
 * saves its own in the job's directory.
 */
export async function computeReference(
  backend: Backend,
  { directory, resumeFrom, onNote, ...remaining }: ComputeOptions,
): Promise<Reference> {
  onNote?.("computing the reference log probabilities of the answers");
  const reference = createReference(backend, readReference(resumeFrom && jobOf(resumeFrom)));
  for (const batch of neededBatches(remaining)) await reference.sumsOf(batch);
  writeReference(directory, reference.known());
  return reference;
}

type RemainingTraining = Omit<ComputeOptions, "directory" | "resumeFrom" | "onNote">;

/** All batches of a training run and its evaluation, with their KL examples. */
function* neededBatches(remaining: RemainingTraining): Generator<Example[]> {
  const { config, data, objective, maxLength, skipped, steps } = remaining;
  const next = createBatchLoader(data.training.examples, config.batchSize, config.seed, skipped);
  for (let i = 0; i < steps * config.gradientAccumulationSteps; i++) {
    const batch = next();
    yield [...batch, ...(objective.klExamples?.build(batch, maxLength) ?? [])];
  }
  const { examples } = data.evaluation ?? {};
  if (!examples) return;
  for (const batch of batchesOnce(examples, config.batchSize)) {
    yield [...batch, ...(objective.klExamples?.build(batch, maxLength) ?? [])];
  }
}

/** Directory of a checkpoint's job. */
function jobOf(checkpoint: string): string {
  return join(checkpoint, "..", "..");
}

function keyOf({ sequences }: Example): string {
  return digestOf(sequences.flatMap(({ tokens, learned }) => [Uint32Array.from(tokens), learned]));
}

/** Empty if the file is missing or damaged; then everything is computed again. */
function readReference(directory: string | undefined): KnownSums {
  if (directory === undefined) return new Map();
  try {
    const read: unknown = JSON.parse(readFileSync(join(directory, REFERENCE_FILE), "utf8"));
    const entries = isRecord(read) ? Object.entries(read) : [];
    return new Map(entries.filter((entry): entry is [string, number[]] => isSums(entry[1])));
  } catch {
    return new Map();
  }
}

/** @throws KitError `CANNOT_WRITE` */
function writeReference(directory: string, known: KnownSums): void {
  const path = join(directory, REFERENCE_FILE);
  try {
    writeFileAtomically(path, JSON.stringify(Object.fromEntries(known)), { flush: true });
  } catch (error) {
    throw cannotWrite(`write ${path}`, error);
  }
}

function isSums(value: unknown): value is number[] {
  return Array.isArray(value) && value.every(Number.isFinite);
}
