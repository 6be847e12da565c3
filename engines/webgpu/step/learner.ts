import type { Example } from "../../examples/examples.ts";
import type { Weights } from "../../modelFiles/weights.ts";
import type {
  Backend,
  InitialState,
  Late,
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
import { NORM } from "../kernels/optimizer.ts";
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
 * The backend on a GPU. All commands of a step are recorded and submitted together, with copies of its loss and norm,
 * which are read later.
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
  /** Whether the norm and the clip factor are the gradients'. */
  let isClipped = false;

  function microBatchesIn(examples: readonly Example[]): Example[][] {
    const lengthsOf = (example: Example) => learnedSequences(example).map(inputLength);
    return microBatchesOf(examples, lengthsOf, limits);
  }

  /** @returns the number of learned tokens */
  function write(microBatch: readonly Example[]): number {
    // What is recorded reads the previous batch.
    device.submit();
    return writeBatch(device, batch, microBatch.flatMap(learnedSequences));
  }

  /** @returns reads each learned token's weighted loss */
  function copyLosses(count: number): () => Promise<Float32Array> {
    const read = device.copy([{ array: batch.losses, from: 0, words: count }]);
    return async () => (await read())[0]!;
  }

  /** Leaves the activations in memory for the backward pass. */
  async function logProbsIn(microBatch: readonly Example[], usesAdapter = true): Promise<LogProbs> {
    const count = write(microBatch);
    if (count === 0) return logProbsOf(microBatch, new Float32Array());
    device.write(lossWeights, 0, new Float32Array(count).fill(1));
    device.run([...model.forward, ...model.loss], usesAdapter);
    return logProbsOf(microBatch, await copyLosses(count)());
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
  ): Promise<Late> {
    isClipped = false;
    let [from, adds] = [0, accumulate];
    const losses: ReturnType<typeof copyLosses>[] = [];
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
      if (typeof weigh === "number") losses.push(copyLosses(weights.length));
      adds = true;
    }
    if (!adds) for (const { gradients } of tensors.pages) device.clear(gradients);
    return async () => {
      const read = await Promise.all(losses.map((one) => one()));
      return read.reduce((all, one) => one.reduce((sum, loss) => sum + loss, all), 0);
    };
  }

  function clip(): void {
    if (!isClipped) device.run(optimizer.clip);
    isClipped = true;
  }

  function gradNorm(): Late {
    clip();
    const read = device.copy([wholeSlice(optimizer.scalars)]);
    return async () => (await read())[0]![NORM]!;
  }

  function update(step: number, learningRate: number): void {
    clip();
    device.write(optimizer.scalars, 1, stepScalars(step, learningRate));
    device.run(optimizer.update);
    device.submit();
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
