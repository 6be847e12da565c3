import type { LoraConfig, TrainConfig } from "../../../protocol/trainConfig.ts";
import type { Dimensions } from "../../families/dimensions.ts";
import {
  type Recompute,
  RECOMPUTE_CHEAP,
  RECOMPUTE_NOTHING,
  minimalRecompute,
} from "../../training/segments.ts";
import { type Arena, createArena, planArena } from "../kernels/arena.ts";
import type { Address } from "../kernels/kernels.ts";
import type { Staging } from "../kernels/quantized.ts";
import { type TeamPlan, planTeam } from "../kernels/team.ts";
import type { ModelPlan } from "../model/passes.ts";
import { planModel } from "../model/planModel.ts";
import type { BatchLimits } from "../ops/operation.ts";
import { partialCount } from "./optimizer.ts";

/** Inputs of the memory plan, the same on all threads. */
export interface TrainingSizes {
  shape: Dimensions;
  /** Names of the bfloat16 tensors, which stay so in a frozen base. */
  bfloat16?: ReadonlySet<string> | undefined;
  limits: BatchLimits;
  lora: LoraConfig | undefined;
  threads: number;
  options: Pick<TrainConfig, "weightDecay" | "maxGradNorm">;
  /** Default: the least that keeps memory under 1.15 GiB. */
  recompute?: Recompute;
}

export interface TrainingPlan {
  sizes: TrainingSizes;
  arena: Arena;
  team: TeamPlan;
  model: ModelPlan;
  /** A buffer for rows while they are quantized. */
  staging: Staging;
  /** Float64 [partialCount] */
  partials: Address;
  /** Float64: the step, its learning rate, and the resulting gradient norm. */
  stepScalars: Address;
}

const STEP_SCALARS_BYTES = 3 * 8;
/** Rows quantized at a time. */
const STAGED_ROWS = 8;

const ADVICE = "Lower maxLength or the model's size, or use engine: python()";

/** Up to this size, nothing is recomputed. */
const SMALL_BYTES = 2 ** 28;
/** With a plan of this size, a process takes about 1.4 GB. */
export const MODERATE_BYTES = 1.15 * 2 ** 30;

/** @throws KitError `OUT_OF_MEMORY` */
export function planTraining(sizes: TrainingSizes): TrainingPlan {
  const recompute =
    sizes.recompute ??
    minimalRecompute(sizes.shape.layers, (some) => bytesWith(sizes, some), {
      small: SMALL_BYTES,
      moderate: MODERATE_BYTES,
    });
  return planArena((arena) => reserveTraining(arena, { ...sizes, recompute }), ADVICE);
}

/** Bytes of a plan that recomputes no whole segment. It is for one thread, so that it is the same for any number. */
export function bytesOf(sizes: Omit<TrainingSizes, "threads">): number {
  const singleThread = { ...sizes, threads: 1 };
  const bytes = bytesWith(singleThread, RECOMPUTE_NOTHING);
  return bytes <= SMALL_BYTES ? bytes : bytesWith(singleThread, RECOMPUTE_CHEAP);
}

function bytesWith(sizes: TrainingSizes, recompute: Recompute): number {
  const arena = createArena();
  reserveTraining(arena, { ...sizes, recompute });
  return arena.sizes().all;
}

function reserveTraining(arena: Arena, sizes: TrainingSizes & { recompute: Recompute }) {
  const { shape, bfloat16, limits, lora, threads, recompute } = sizes;
  const team = planTeam(arena, threads);
  const quantize = lora?.baseType;
  const tensors = { bfloat16: lora && bfloat16, lora, isTrained: true, quantize };
  const model = planModel(arena, shape, { ...tensors, limits, threads, recompute });
  return {
    sizes,
    team,
    model,
    staging: reserveStaging(arena, model),
    partials: arena.reserveBytes("work", partialCount(model.tensors.groups) * 8),
    stepScalars: arena.reserveBytes("work", STEP_SCALARS_BYTES),
  };
}

/** Reserves a buffer for `STAGED_ROWS` rows of any quantized matrix, in float32. */
function reserveStaging(arena: Arena, { tensors }: ModelPlan): Staging {
  const widths = Object.values(tensors.frozen).map(({ slice }) => slice?.matrix.in ?? 0);
  const bytes = STAGED_ROWS * Math.max(0, ...widths) * 4;
  return { at: arena.reserveBytes("work", bytes), bytes };
}
