import type { LoraConfig, TrainConfig } from "../../../protocol/trainConfig.ts";
import { type LlamaShape, dimensionsOf } from "../../llama/dimensions.ts";
import { type Arena, createArena, planArena } from "../kernels/arena.ts";
import type { Address } from "../kernels/kernels.ts";
import { type TeamPlan, planTeam } from "../kernels/team.ts";
import { type Recomputed, planActivations, planBacklog } from "../model/activations.ts";
import { noAdapter, planAdapter } from "../model/adapterPlan.ts";
import type { ModelPlan } from "../model/model.ts";
import { type MapName, type Places, MAPS, planWeights } from "../model/weightPlan.ts";
import { type Trained, partialCount } from "./optimizer.ts";

/** The inputs of the memory plan, the same on every thread. */
export interface TrainingSizes {
  shape: LlamaShape;
  /** Names of the tensors that are bfloat16: with LoRA, the frozen base stays as it is. */
  bfloat16?: ReadonlySet<string>;
  /** Rows per batch. */
  rows: number;
  /** Tokens a row. */
  length: number;
  lora: LoraConfig | undefined;
  threads: number;
  options: Pick<TrainConfig, "weightDecay" | "maxGradNorm">;
  /** Default: as little as keeps the memory moderate. */
  recomputed?: Recomputed;
}

export interface TrainingPlan {
  sizes: TrainingSizes;
  arena: Arena;
  team: TeamPlan;
  model: ModelPlan;
  trained: Trained;
  /** Where each trained tensor lies. */
  tensors: Places;
  /** Its running means. */
  moments: { first: Places; second: Places };
  /** Float64: the step, its learning rate, and the gradient's norm that came of it. */
  numbers: Address;
}

const NUMBERS_BYTES = 3 * 8;

const ADVICE = "Lower batchSize, maxLength or the model's size, or use engine: python()";

/** With at most this much, nothing is computed again. */
const FEW_BYTES = 2 ** 28;
/** With this much, a process takes some 1.4 GB. */
const MODERATE_BYTES = 1.15 * 2 ** 30;

/** @throws KitError `OUT_OF_MEMORY` for what does not fit */
export function planTraining(sizes: TrainingSizes): TrainingPlan {
  const { layers } = sizes.shape;
  const recomputed = sizes.recomputed ?? leastRecomputed(sizes);
  const place = (arena: Arena, layers: number) =>
    placeTraining(arena, { ...sizes, recomputed }, layers);
  return planArena(layers, place, ADVICE);
}

/** As little as keeps the memory moderate: first what is cheap, then whole blocks. */
function leastRecomputed(sizes: TrainingSizes): Recomputed {
  const { layers } = sizes.shape;
  const bytes = (cheap: boolean, blocks: number) => bytesWith(sizes, { cheap, blocks });
  if (bytes(false, 0) <= FEW_BYTES) return { cheap: false, blocks: 0 };
  const least = bytes(true, Infinity);
  const perBlock = (bytes(true, 0) - least) / Math.max(1, layers - 1);
  const kept = Math.max(0, Math.floor((MODERATE_BYTES - least) / perBlock));
  // The room that the others share is another block's own, if there are none.
  return { cheap: true, blocks: kept >= layers - 1 ? 0 : layers - kept };
}

/** Worked out from two layers, since a shape may claim a billion. */
function bytesWith(sizes: TrainingSizes, recomputed: Recomputed): number {
  const [one, two] = [1, 2].map((layers) => {
    const arena = createArena();
    placeTraining(arena, { ...sizes, recomputed }, layers);
    return arena.sizes().all;
  }) as [number, number];
  return one + (sizes.shape.layers - 1) * (two - one);
}

function placeTraining(
  arena: Arena,
  sizes: TrainingSizes & { recomputed: Recomputed },
  layers: number,
) {
  const { shape, bfloat16, rows, length, lora, threads } = sizes;
  const team = planTeam(arena, threads);
  const d = dimensionsOf({ ...shape, layers });
  const weights = planWeights(arena, "weights", d, lora ? bfloat16 : undefined);
  const adapter = lora ? planAdapter(arena, "weights", d, lora) : noAdapter(d.layers);
  const gradients = lora ? undefined : planWeights(arena, "gradients", d);
  const adapterGradients = lora ? planAdapter(arena, "gradients", d, lora) : noAdapter(d.layers);
  const planMoments = () =>
    lora ? planAdapter(arena, "moments", d, lora) : planWeights(arena, "moments", d);
  const [first, second] = [planMoments(), planMoments()];
  const trained = lora ? adapter : weights;
  return {
    sizes,
    team,
    model: {
      dimensions: d,
      weights,
      gradients,
      adapter,
      adapterGradients,
      adapterScale: lora ? lora.alpha / lora.r : 1,
      activations: planActivations(arena, d, {
        ...{ rows, length, ranks: ranksOf(lora) },
        recomputed: sizes.recomputed,
      }),
      backlog: planBacklog(arena, d, { rows, length, rank: lora?.r ?? 0, threads }),
    },
    trained: {
      weights: trained.groups,
      gradients: (gradients ?? adapterGradients).groups,
      firstMoments: first.groups,
      secondMoments: second.groups,
      partials: arena.bytes("work", partialCount(trained.groups) * 8),
    },
    tensors: trained.tensors,
    moments: { first: first.tensors, second: second.tensors },
    numbers: arena.bytes("work", NUMBERS_BYTES),
  };
}

/** The rank of each update of a block, by the map it belongs to. */
function ranksOf(lora: LoraConfig | undefined): Record<MapName, number[]> {
  const ranks = (map: MapName) =>
    MAPS[map].filter((name) => lora?.targetModules.includes(name)).map(() => lora?.r ?? 0);
  return { qkv: ranks("qkv"), o: ranks("o"), gateUp: ranks("gateUp"), down: ranks("down") };
}
