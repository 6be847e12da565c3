import type { LoraConfig, TrainConfig } from "../../../protocol/trainConfig.ts";
import type { Dimensions } from "../../families/dimensions.ts";
import { type Arena, createArena, planArena } from "../kernels/arena.ts";
import type { Address } from "../kernels/kernels.ts";
import type { Staging } from "../kernels/quantized.ts";
import { type TeamPlan, planTeam } from "../kernels/team.ts";
import type { Recompute } from "../model/graph.ts";
import type { ModelPlan } from "../model/passes.ts";
import { placeModel } from "../model/place.ts";
import type { BatchLimits } from "../ops/operation.ts";
import { partialCount } from "./optimizer.ts";

/** The inputs of the memory plan, the same on every thread. */
export interface TrainingSizes {
  shape: Dimensions;
  /** Names of the tensors that are bfloat16: with LoRA, the frozen base stays as it is. */
  bfloat16?: ReadonlySet<string> | undefined;
  limits: BatchLimits;
  lora: LoraConfig | undefined;
  threads: number;
  options: Pick<TrainConfig, "weightDecay" | "maxGradNorm">;
  /** Default: least recomputation under 1.15 GiB. */
  recompute?: Recompute;
}

export interface TrainingPlan {
  sizes: TrainingSizes;
  arena: Arena;
  team: TeamPlan;
  model: ModelPlan;
  /** Where rows lie while they are quantized. */
  staging: Staging;
  /** Float64 [partialCount] */
  partials: Address;
  /** Float64: the step, its learning rate, and the gradient's norm that came of it. */
  stepScalars: Address;
}

const STEP_SCALARS_BYTES = 3 * 8;
/** Rows that are quantized at a time. */
const STAGED_ROWS = 8;

const ADVICE = "Lower maxLength or the model's size, or use engine: python()";

/** With at most this much, nothing is computed again. */
const FEW_BYTES = 2 ** 28;
/** With this much, a process takes some 1.4 GB. */
export const MODERATE_BYTES = 1.15 * 2 ** 30;

/** @throws KitError `OUT_OF_MEMORY` for what does not fit */
export function planTraining(sizes: TrainingSizes): TrainingPlan {
  const recompute = sizes.recompute ?? leastRecompute(sizes);
  return planArena((arena) => placeTraining(arena, { ...sizes, recompute }), ADVICE);
}

/** The least recomputation that keeps memory moderate: first what is cheap, then parts, then layers. */
function leastRecompute(sizes: TrainingSizes): Recompute {
  const parts = 2 * sizes.shape.layers;
  const isModerate = (count: number) =>
    bytesWith(sizes, { cheap: true, parts: count }) <= MODERATE_BYTES;
  if (bytesWith(sizes, NOTHING) <= FEW_BYTES) return NOTHING;
  if (!isModerate(parts)) return { cheap: true, parts: sizes.shape.layers, areLayers: true };
  // The fewest that suffice: more parts never need more memory.
  let [least, most] = [0, parts];
  while (least < most) {
    const middle = Math.floor((least + most) / 2);
    if (isModerate(middle)) most = middle;
    else least = middle + 1;
  }
  return { cheap: true, parts: least };
}

const NOTHING: Recompute = { cheap: false, parts: 0 };
const CHEAP: Recompute = { cheap: true, parts: 0 };

/** Bytes of a training that computes no whole part again, on one thread: so all threads plan alike. */
export function bytesOf(sizes: Omit<TrainingSizes, "threads">): number {
  const alone = { ...sizes, threads: 1 };
  const bytes = bytesWith(alone, NOTHING);
  return bytes <= FEW_BYTES ? bytes : bytesWith(alone, CHEAP);
}

function bytesWith(sizes: TrainingSizes, recompute: Recompute): number {
  const arena = createArena();
  placeTraining(arena, { ...sizes, recompute });
  return arena.sizes().all;
}

function placeTraining(arena: Arena, sizes: TrainingSizes & { recompute: Recompute }) {
  const { shape, bfloat16, limits, lora, threads, recompute } = sizes;
  const team = planTeam(arena, threads);
  const quantize = lora?.baseType;
  const tensors = { bfloat16: lora && bfloat16, lora, isTrained: true, quantize };
  const model = placeModel(arena, shape, { ...tensors, limits, threads, recompute });
  return {
    ...{ sizes, team, model, staging: placeStaging(arena, model) },
    partials: arena.bytes("work", partialCount(model.tensors.groups) * 8),
    stepScalars: arena.bytes("work", STEP_SCALARS_BYTES),
  };
}

/** Room for some rows of any quantized matrix, in float32. */
function placeStaging(arena: Arena, { tensors }: ModelPlan): Staging {
  const widths = Object.values(tensors.frozen).map(({ part }) => part?.matrix.in ?? 0);
  const bytes = STAGED_ROWS * Math.max(0, ...widths) * 4;
  return { at: arena.bytes("work", bytes), bytes };
}
