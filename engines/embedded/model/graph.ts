import { ropeTables } from "../../families/rope.ts";
import { type Recompute, type Segment, createSegments } from "../../training/segments.ts";
import type { Arena } from "../kernels/arena.ts";
import type { Address } from "../kernels/kernels.ts";
import { rowsAt } from "../kernels/matmuls.ts";
import { ENTRY_WORDS, MAX_ADAPTERS } from "../ops/adapters.ts";
import {
  type BatchLimits,
  type BatchPlan,
  type CachePlan,
  type Graph,
  type Operation,
  RUN_WORDS,
  pagesOf,
} from "../ops/operation.ts";
import { planBatch } from "./batch.ts";
import { type TensorOptions, type TensorPlan, createTensors } from "./tensors.ts";

export interface GraphOptions extends TensorOptions {
  limits: BatchLimits;
  threads: number;
  recompute: Recompute;
  /** The KV cache; set for inference. */
  cache?: Pick<CachePlan, "context" | "pages">;
}

/** A constant array, written once before the first pass. */
export interface Constant {
  at: number;
  values: () => Float32Array;
}

/** Addresses of the adapters' entries for each linear layer [out, in], by name. */
export type AdapterTables = Record<string, { at: Address; out: number; in: number }>;

/** A model's memory and operations. */
export interface GraphPlan {
  limits: BatchLimits;
  batch: BatchPlan;
  cache: CachePlan | undefined;
  tensors: TensorPlan;
  adapterTables: AdapterTables;
  constants: Constant[];
  /** The embedding, then the segments that add to the residual, then the final norm. */
  segments: Segment<Operation>[];
}

export function createGraph(
  arena: Arena,
  options: GraphOptions,
): { graph: Graph; plan: GraphPlan } {
  const { limits, threads, recompute } = options;
  const reserve = (count: number) => arena.reserveWords("activations", count);
  const batch = planBatch(arena, limits);
  const cache = options.cache && {
    ...options.cache,
    table: reserve(limits.sequences * pagesOf(options.cache.context)),
    tableRows: reserve(limits.tokens),
    runs: reserve(limits.sequences * RUN_WORDS),
  };
  const adapterTables: AdapterTables = {};
  /** Arrays in each page of the KV cache. */
  let arrayCount = 0;
  const { plan: tensors, ...tensorBuilders } = createTensors(arena, options);
  const constants: Constant[] = [];
  const angles = new Map<string, ReturnType<Graph["angles"]>>();
  const { segments, ...memory } = createSegments<Operation, Address>({
    recompute,
    reserve,
    sharesAll: cache !== undefined,
  });

  const graph: Graph = {
    limits,
    batch,
    threads,
    cache,
    ...tensorBuilders,
    ...memory,
    activation(rows, width, { isCheap = false, isResidual = false } = {}) {
      const count = limits[rows] * width;
      const at = isResidual ? reserve(count) : memory.saved(count, { isCheap });
      const gradient = isResidual ? reserve : memory.gradient;
      const grad = cache === undefined ? gradient(count) : UNUSED;
      return { ...rowsAt(at, width), width, rows, isResidual, grad: rowsAt(grad, width) };
    },
    residual(to) {
      // Inference updates the residual in place.
      if (cache !== undefined) return to;
      return { ...to, at: memory.residual(limits[to.rows] * to.width) };
    },
    adapterTable(name, out, inner) {
      const at = reserve((1 + MAX_ADAPTERS) * ENTRY_WORDS);
      adapterTables[name] = { at, out, in: inner };
      return at;
    },
    persistent: reserve,
    inPages(count) {
      const offset = 4 * count * arrayCount++;
      arena.reserveLast("activations", 4 * count * (cache?.pages ?? 0));
      return () => arena.growsFrom() + offset;
    },
    angles(rope, headDim) {
      const key = JSON.stringify([rope, headDim]);
      const found = angles.get(key);
      if (found) return found;
      const positions = cache?.context ?? limits.longest;
      const count = (positions * headDim) / 2;
      const tables = { cosines: reserve(count), sines: reserve(count) };
      angles.set(key, tables);
      const values = () => ropeTables(rope, headDim, positions);
      constants.push({ at: tables.cosines, values: () => values().cosines });
      constants.push({ at: tables.sines, values: () => values().sines });
      return tables;
    },
  };
  return { graph, plan: { limits, batch, cache, tensors, adapterTables, constants, segments } };
}

/** A placeholder for memory that nothing uses. */
const UNUSED = 0;
