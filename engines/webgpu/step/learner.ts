import type { Example } from "../../examples/examples.ts";
import type { Weights } from "../../modelFiles/weights.ts";
import type {
  Backend,
  InitialState,
  LogProbs,
  LogProbsOptions,
  Weigh,
} from "../../training/backend.ts";
import {
  learnedSequences,
  logProbsOf,
  microBatchesOf,
  inputLength,
} from "../../training/microBatches.ts";
import { wholeSlice } from "../device/array.ts";
import type { Device } from "../device/device.ts";
import type { TrainedArray } from "../model/tensors.ts";
import { readTrained, writeFrozen, writeTrained } from "../model/writeTensors.ts";
import { writeBatch } from "./batch.ts";
import { stepScalars } from "./optimizer.ts";
import type { TrainingPlan } from "./trainingPlan.ts";

export interface Learner extends Backend {
  /** The current gradients. */
  gradients: () => Promise<Weights>;
}

/**
 * The backend on a GPU. Commands are recorded and submitted together where a result is read: an update with the next
 * step's gradients, a loss with the sums of the gradients' squares.
 */
export async function createLearner(
  device: Device,
  plan: TrainingPlan,
  { trainable, frozen, moments }: InitialState,
): Promise<Learner> {
  const { sizes, model, optimizer } = plan;
  const { tensors, batch } = model;
  const { lossWeights } = batch;
  await device.allocate(plan.arrays.arrays);
  await writeTrained(device, tensors, "weights", trainable);
  if (moments) await writeTrained(device, tensors, "firstMoments", moments.first);
  if (moments) await writeTrained(device, tensors, "secondMoments", moments.second);
  await writeFrozen(device, tensors, frozen);
  for (const { array, values } of model.constants) device.write(array, 0, values());
  // Keeps shapes only.
  const shapes = Object.fromEntries(
    Object.entries(trainable).map(([name, { shape }]) => [name, shape]),
  );
  const limits = [{ sizeOf: (length: number) => length, max: sizes.limits.tokens }];
  /** The norm of the gradients, once known. */
  let norm: number | undefined;

  function microBatchesIn(examples: readonly Example[]): Example[][] {
    const lengthsOf = (example: Example) => learnedSequences(example).map(inputLength);
    return microBatchesOf(examples, lengthsOf, limits);
  }

  /** @returns the number of learned tokens */
  function write(microBatch: readonly Example[]): number {
    // Nothing recorded reads the previous batch: only an update isn't submitted yet.
    return writeBatch(device, batch, microBatch.flatMap(learnedSequences));
  }

  /** Reads each learned token's weighted loss. */
  function readLosses(count: number) {
    return device.read([{ array: batch.losses, from: 0, words: count }]).then(([read]) => read!);
  }

  /** Leaves the activations in memory for the backward pass. */
  async function logProbsIn(microBatch: readonly Example[], usesAdapter = true): Promise<LogProbs> {
    const count = write(microBatch);
    if (count === 0) return logProbsOf(microBatch, new Float32Array());
    device.write(lossWeights, 0, new Float32Array(count).fill(1));
    device.run([...model.forward, ...model.loss], usesAdapter);
    return logProbsOf(microBatch, await readLosses(count));
  }

  async function logProbs(
    examples: readonly Example[],
    { usesAdapter }: LogProbsOptions,
  ): Promise<LogProbs> {
    const all: LogProbs[number][] = [];
    for (const microBatch of microBatchesIn(examples))
      all.push(...(await logProbsIn(microBatch, usesAdapter)));
    return all;
  }

  async function backpropagate(
    examples: readonly Example[],
    weigh: number | Weigh,
    accumulate: boolean,
  ): Promise<number> {
    norm = undefined;
    let [from, adds] = [0, accumulate];
    const steps: ReturnType<typeof readStep>[] = [];
    for (const microBatch of microBatchesIn(examples)) {
      let weights: Float32Array;
      if (typeof weigh === "number") {
        weights = new Float32Array(write(microBatch)).fill(weigh);
        if (weights.length > 0) device.run(model.forward);
      } else {
        weights = Float32Array.from(
          weigh(await logProbsIn(microBatch), from)
            .flat()
            .flatMap((one) => [...one]),
        );
      }
      from += microBatch.length;
      if (weights.length === 0) continue;
      device.write(lossWeights, 0, weights);
      device.run(model.backward(adds));
      device.run(optimizer.sumSquares);
      adds = true;
      const step = readStep(weights.length);
      // Awaited after all micro-batches; until then, its failure must not count as unhandled.
      step.catch(() => {});
      steps.push(step);
    }
    if (!adds) for (const { gradients } of tensors.pages) device.clear(gradients);
    const read = await Promise.all(steps);
    // Of the last one, after which the gradients are complete.
    norm = read.at(-1)?.norm;
    let sum = 0;
    for (const { losses } of read) for (const loss of losses) sum += loss;
    return sum;
  }

  /** Reads a micro-batch's weighted losses, and the norm of the gradients so far. */
  async function readStep(count: number): Promise<{ losses: Float32Array; norm: number }> {
    const slice = { array: batch.losses, from: 0, words: count };
    const [losses, sums] = await device.read([slice, wholeSlice(optimizer.sums)]);
    return { losses: losses!, norm: normOf(sums!) };
  }

  async function gradNorm(): Promise<number> {
    if (norm !== undefined) return norm;
    device.run(optimizer.sumSquares);
    const [sums] = await device.read([wholeSlice(optimizer.sums)]);
    norm = normOf(sums!);
    return norm;
  }

  async function update(step: number, learningRate: number): Promise<void> {
    const { maxGradNorm } = sizes.options;
    const scalars = stepScalars(step, learningRate, await gradNorm(), maxGradNorm);
    device.submit();
    device.write(optimizer.scalars, 0, scalars);
    device.run(optimizer.update);
  }

  const read = (array: TrainedArray) => readTrained(device, tensors, array, shapes);
  return {
    logProbs,
    backpropagate,
    gradNorm,
    update,
    baseType: sizes.lora?.baseType,
    async setWeights(weights) {
      device.submit();
      await writeTrained(device, tensors, "weights", weights);
    },
    weights: () => read("weights"),
    moments: async () => ({
      first: await read("firstMoments"),
      second: await read("secondMoments"),
    }),
    gradients: () => read("gradients"),
  };
}

function normOf(sums: Float32Array): number {
  let total = 0;
  for (const sum of sums) total += sum;
  return Math.sqrt(total);
}
