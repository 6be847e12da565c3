import { ropeTables } from "../../families/rope.ts";
import { type Recompute, type Segment, createSegments } from "../../training/segments.ts";
import type { Arrays, DeviceArray } from "../device/array.ts";
import { MAX_SPLIT_WORDS } from "../ops/matmuls.ts";
import type { BatchLimits, BatchPlan, Graph, Operation } from "../ops/operation.ts";
import { type TensorOptions, type TensorPlan, createTensors } from "./tensors.ts";

export interface GraphOptions extends TensorOptions {
  limits: BatchLimits;
  recompute: Recompute;
}

/** A model's memory and operations. */
export interface GraphPlan {
  batch: BatchPlan;
  tensors: TensorPlan;
  /** Arrays written once. */
  constants: { array: DeviceArray; values: () => Float32Array }[];
  segments: Segment<Operation>[];
}

export function createGraph(
  arrays: Arrays,
  options: GraphOptions,
): { graph: Graph; plan: GraphPlan } {
  const { limits, recompute } = options;
  const reserve = (words: number) => arrays.add("activations", words);
  const batch = planBatch(reserve, limits);
  const { plan: tensors, ...tensorBuilders } = createTensors(arrays, options);
  const { segments, ...memory } = createSegments<Operation, DeviceArray>({ recompute, reserve });
  const constants: GraphPlan["constants"] = [];
  const angles = new Map<string, ReturnType<Graph["angles"]>>();

  const graph: Graph = {
    limits,
    maxWords: options.maxWords,
    batch,
    ...tensorBuilders,
    ...memory,
    activation(rows, width, { isCheap = false, isResidual = false } = {}) {
      const count = limits[rows] * width;
      const array = isResidual ? reserve(count) : memory.saved(count, { isCheap });
      const grad = isResidual ? reserve(count) : memory.gradient(count);
      return { array, width, rows, grad, isResidual };
    },
    residual: (to) => ({ ...to, array: memory.residual(limits[to.rows] * to.width) }),
    splits: reserve(Math.min(MAX_SPLIT_WORDS, options.maxWords)),
    angles(rope, headDim) {
      const key = JSON.stringify([rope, headDim]);
      const found = angles.get(key);
      if (found) return found;
      const count = (limits.longest * headDim) / 2;
      const made = { cosines: reserve(count), sines: reserve(count) };
      angles.set(key, made);
      const values = () => ropeTables(rope, headDim, limits.longest);
      constants.push({ array: made.cosines, values: () => values().cosines });
      constants.push({ array: made.sines, values: () => values().sines });
      return made;
    },
  };
  return { graph, plan: { batch, tensors, constants, segments } };
}

function planBatch(
  reserve: (words: number) => DeviceArray,
  { tokens, selected }: BatchLimits,
): BatchPlan {
  const ofTokens = () => reserve(tokens);
  const ofSelected = () => reserve(selected);
  return {
    tokens: ofTokens(),
    positions: ofTokens(),
    starts: ofTokens(),
    ends: ofTokens(),
    selectedIndex: ofTokens(),
    order: ofTokens(),
    groups: reserve(tokens + 1),
    selected: ofSelected(),
    targets: ofSelected(),
    lossWeights: ofSelected(),
    losses: ofSelected(),
  };
}
