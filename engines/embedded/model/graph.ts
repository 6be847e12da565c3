import { ropeTables } from "../../families/rope.ts";
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

/** What the backward pass recomputes, with identical bits, so that the model's segments can share memory. */
export interface Recompute {
  /** Whether to recompute all segments' cheap operations. */
  cheap: boolean;
  /** Number of segments, counted from the first, to recompute entirely from their inputs. */
  segments: number;
  /** Whether a segment is a whole layer instead of half of one, so that half as many inputs are saved. */
  isPerLayer?: boolean;
}

export interface GraphOptions extends TensorOptions {
  limits: BatchLimits;
  threads: number;
  recompute: Recompute;
  /** The KV cache; set for inference. */
  cache?: Pick<CachePlan, "context" | "pages">;
}

/** Operations that end with an addition to the residual, or those after the last addition. */
export interface Segment {
  operations: Operation[];
  /** What to recompute before its backward pass. */
  recompute: "all" | "cheap" | "nothing";
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
  segments: Segment[];
}

export function createGraph(
  arena: Arena,
  options: GraphOptions,
): { graph: Graph; plan: GraphPlan } {
  const { limits, threads, recompute } = options;
  const words = (count: number) => arena.words("activations", count);
  const batch = planBatch(arena, limits);
  const cache = options.cache && {
    ...options.cache,
    table: words(limits.sequences * pagesOf(options.cache.context)),
    tableRows: words(limits.tokens),
    runs: words(limits.sequences * RUN_WORDS),
  };
  const adapterTables: AdapterTables = {};
  const { plan: tensors, ...tensorBuilders } = createTensors(arena, options);
  const constants: Constant[] = [];
  const segments: Segment[] = [{ operations: [], recompute: "nothing" }];
  const angles = new Map<string, ReturnType<Graph["angles"]>>();
  const shared = createSharedArrays(words);
  const segment = () => segments.at(-1)!;
  let halfLayers = 0;
  /** Whether the current residual becomes a segment's input. */
  const startsSegment = () => !recompute.isPerLayer || halfLayers % 2 === 0;

  function endSegment(): void {
    const endsHere = startsSegment();
    halfLayers++;
    if (!endsHere) return;
    const isAll = segments.length <= recompute.segments;
    segments.push({
      operations: [],
      recompute: isAll ? "all" : recompute.cheap ? "cheap" : "nothing",
    });
    shared.restart();
  }

  const saved: Graph["saved"] = (count, { isCheap = false, isSmall = false } = {}) => {
    const { recompute } = segment();
    const isShared =
      cache !== undefined ||
      (recompute === "all" && !isSmall) ||
      (recompute === "cheap" && isCheap);
    return isShared ? shared.take(isCheap ? "cheap" : "whole", count) : words(count);
  };
  const gradient = (count: number) =>
    cache === undefined ? shared.take("gradient", count) : UNUSED;

  const graph: Graph = {
    limits,
    batch,
    threads,
    cache,
    saved,
    ...tensorBuilders,
    add: (operation) => void segment().operations.push(operation),
    activation(rows, width, { isCheap = false, isResidual = false } = {}) {
      const count = limits[rows] * width;
      const at = isResidual ? words(count) : saved(count, { isCheap });
      const grad = isResidual && cache === undefined ? words(count) : gradient(count);
      return { ...rowsAt(at, width), width, rows, isResidual, grad: rowsAt(grad, width) };
    },
    residual(to) {
      // Inference updates the residual in place.
      if (cache !== undefined) return to;
      const count = limits[to.rows] * to.width;
      return { ...to, at: startsSegment() ? words(count) : saved(count) };
    },
    endSegment,
    scratch: (count) => shared.take("scratch", count),
    adapterTable(name, out, inner) {
      const at = words((1 + MAX_ADAPTERS) * ENTRY_WORDS);
      adapterTables[name] = { at, out, in: inner };
      return at;
    },
    persistent: words,
    angles(rope, headDim) {
      const key = JSON.stringify([rope, headDim]);
      const found = angles.get(key);
      if (found) return found;
      const positions = cache?.context ?? limits.longest;
      const count = (positions * headDim) / 2;
      const tables = { cosines: words(count), sines: words(count) };
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

/** Arrays that all segments share: the n-th array of a kind and size has the same address in each segment. */
function createSharedArrays(words: (count: number) => Address) {
  const arrays = new Map<string, Address>();
  let taken = new Map<string, number>();
  return {
    take(kind: string, count: number): Address {
      const index = taken.get(`${kind} ${count}`) ?? 0;
      taken.set(`${kind} ${count}`, index + 1);
      const key = `${kind} ${count} ${index}`;
      const at = arrays.get(key) ?? words(count);
      arrays.set(key, at);
      return at;
    },
    restart(): void {
      taken = new Map();
    },
  };
}
