import { KitError } from "../../../protocol/error.ts";
import { formatGibibytes } from "../../../protocol/format.ts";
import type { LoraConfig, TrainConfig } from "../../../protocol/trainConfig.ts";
import type { Dimensions } from "../../families/dimensions.ts";
import { matrixType } from "../../families/matrixTypes.ts";
import { type Recompute, RECOMPUTE_CHEAP, minimalRecompute } from "../../training/segments.ts";
import { type Arrays, WORD_BYTES, createArrays } from "../device/array.ts";
import { type ModelPlan, planModel } from "../model/planModel.ts";
import type { BatchLimits } from "../ops/operation.ts";
import { type OptimizerPlan, planOptimizer } from "./optimizer.ts";

/** Inputs of the memory plan. */
export interface TrainingSizes {
  shape: Dimensions;
  /** Names of the bfloat16 tensors, which stay so in a frozen base. */
  bfloat16?: ReadonlySet<string> | undefined;
  limits: BatchLimits;
  lora: LoraConfig | undefined;
  options: Pick<TrainConfig, "weightDecay" | "maxGradNorm">;
  /** Words of the adapter's largest binding. */
  maxWords: number;
  /** Default: the least that keeps activations moderate. */
  recompute?: Recompute;
}

export interface TrainingPlan {
  sizes: TrainingSizes;
  arrays: Arrays;
  model: ModelPlan;
  optimizer: OptimizerPlan;
}

/** Bytes of activations up to which nothing is recomputed, and up to which batches aren't split. */
const [SMALL_BYTES, MODERATE_BYTES] = [2 ** 29, 2 ** 31];

/** @throws KitError `OUT_OF_MEMORY` if a row needs more than the adapter's largest buffer */
export function planTraining(sizes: TrainingSizes): TrainingPlan {
  const { shape } = sizes;
  const recompute =
    sizes.recompute ??
    minimalRecompute(shape.layers, (some) => activationBytes(reserve(sizes, some)), {
      small: SMALL_BYTES,
      moderate: MODERATE_BYTES,
    });
  const plan = reserve(sizes, recompute);
  const largest = largestWords(plan);
  if (largest <= sizes.maxWords) return plan;
  throw new KitError(
    "OUT_OF_MEMORY",
    `The GPU's largest buffer is ${formatGibibytes(sizes.maxWords * WORD_BYTES)} GiB, but ${sizes.limits.tokens} tokens of this model need one of ${formatGibibytes(largest * WORD_BYTES)}. Lower maxLength.`,
  );
}

/** Whether a plan's activations are moderate, and each fits in a buffer. */
export function isModerate(sizes: TrainingSizes): boolean {
  return activationBytes(reserve(sizes, RECOMPUTE_CHEAP)) <= MODERATE_BYTES && fitsBuffers(sizes);
}

export function fitsBuffers(sizes: TrainingSizes): boolean {
  return largestWords(reserve(sizes, RECOMPUTE_CHEAP)) <= sizes.maxWords;
}

export function memoryBytes({ arrays }: TrainingPlan): number {
  return Object.values(arrays.sizes()).reduce((sum, bytes) => sum + bytes, 0);
}

function activationBytes({ arrays }: TrainingPlan): number {
  return arrays.sizes().activations;
}

function largestWords({ arrays }: TrainingPlan): number {
  return arrays.arrays.reduce((most, { words }) => Math.max(most, words), 0);
}

function reserve(sizes: TrainingSizes, recompute: Recompute): TrainingPlan {
  const { shape, bfloat16, limits, lora, options, maxWords } = sizes;
  const arrays = createArrays();
  const quantize = lora?.baseType;
  const model = planModel(arrays, shape, {
    bfloat16,
    lora,
    limits,
    recompute,
    maxWords,
    ...(quantize && {
      typeOf: (name: string, columns: number) => matrixType(quantize, name, columns, shape),
    }),
  });
  const optimizer = planOptimizer(arrays, model.tensors.pages, options);
  return { sizes, arrays, model, optimizer };
}
