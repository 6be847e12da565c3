import { existsSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { KitError } from "../../protocol/error.ts";
import type { LoraConfig } from "../../protocol/trainConfig.ts";
import { adapterShapes } from "../families/adapter.ts";
import { type Dimensions, type LlamaShape, dimensionsOf } from "../families/dimensions.ts";
import { widen } from "../families/storedWeights.ts";
import { weightShapes } from "../families/tensorShapes.ts";
import { type Weights, countOf } from "../families/weights.ts";
import { WEIGHTS_FILE } from "../hub/modelFiles.ts";
import { ADAPTER_FILE } from "./adapterConfig.ts";
import { ADAPTER_CONFIG, fromPeftNames, llamaAdapterOf, toPeftNames } from "./adapterConfig.ts";
import { readConfig } from "./configFile.ts";
import { writeSafetensors } from "./safetensors.ts";
import { openModel } from "./savedModel.ts";
import { openTensors } from "./tensorFiles.ts";

/** AdamW's running means of what is trained, by the names of its tensors. */
export interface Moments {
  first: Weights;
  second: Weights;
}

/** The state that a training resumes from; with LoRA, the weights are the adapter's alone. */
export interface TrainedState {
  weights: Weights;
  /** Absent without the optimizer's file, which only a job's newest checkpoint has. */
  moments?: Moments;
}

export const OPTIMIZER_FILE = "optimizer.safetensors";
/** PyTorch's names of the two. */
const [FIRST, SECOND] = ["exp_avg.", "exp_avg_sq."];

/** The optimizer's file in a checkpoint. */
export function optimizerFiles({ first, second }: Moments): Record<string, Uint8Array[]> {
  const all = { ...prefixed(FIRST, first), ...prefixed(SECOND, second) };
  return { [OPTIMIZER_FILE]: writeSafetensors(all) };
}

/**
 * @param path a checkpoint of the model that is trained, or with LoRA of its adapter
 * @throws KitError `CHECKPOINT_INVALID` when it is damaged, `CANNOT_RESUME` when it belongs to a different model
 */
export function readTrainedState(
  path: string,
  shape: LlamaShape,
  lora: LoraConfig | undefined,
): TrainedState {
  const file = join(path, ADAPTER_CONFIG);
  const adapter = readConfig(file, "optional");
  const saved = adapter ? llamaAdapterOf(file, adapter).lora : sizesOf(openModel(path).shape);
  if (!isDeepStrictEqual(saved, lora ? { ...lora } : sizesOf(shape))) {
    throw new KitError(
      "CANNOT_RESUME",
      `${path} belongs to a different model or adapter than the trainer's, so the training cannot go on from it. Undo the change, or start without resume.`,
    );
  }
  const shapes = lora ? adapterShapes(lora, shape) : weightShapes(shape);
  const named = lora ? toPeftNames(shapes) : shapes;
  const tensors = join(path, lora ? ADAPTER_FILE : WEIGHTS_FILE);
  const weights = widen(openTensors([tensors], countOf(named)).choose(named).read());
  return {
    weights: lora ? fromPeftNames(weights) : weights,
    ...(existsSync(join(path, OPTIMIZER_FILE)) && { moments: readMoments(path, shapes) }),
  };
}

/** All but the family's name: a Kit of before saved one of Mistral's as one of Llama's. */
function sizesOf(shape: LlamaShape): Omit<Dimensions, "family"> {
  const { family: _, ...sizes } = dimensionsOf(shape);
  return sizes;
}

function readMoments(path: string, shapes: Record<string, number[]>): Moments {
  const both = { ...prefixed(FIRST, shapes), ...prefixed(SECOND, shapes) };
  const file = openTensors([join(path, OPTIMIZER_FILE)], countOf(both));
  const read = widen(file.choose(both).read());
  return { first: without(FIRST, read, shapes), second: without(SECOND, read, shapes) };
}

function prefixed<T>(prefix: string, byName: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(byName).map(([name, value]) => [prefix + name, value]));
}

function without(prefix: string, read: Weights, shapes: Record<string, number[]>): Weights {
  return Object.fromEntries(Object.keys(shapes).map((name) => [name, read[prefix + name]!]));
}
