import { rotations } from "../../families/rope.ts";
import type { Arena } from "../kernels/arena.ts";
import type { Address } from "../kernels/kernels.ts";
import { rowsAt } from "../kernels/products.ts";
import { ENTRY_WORDS, MOST_ADAPTERS } from "../ops/adapters.ts";
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

/**
 * What is computed again in the backward pass: the parts of a model share its room. The results are the
 * same to the bit.
 */
export interface Recompute {
  /** What all parts' operations give again in little time. */
  cheap: boolean;
  /** Of so many parts, the first, all but their inputs. */
  parts: number;
  /** Whether a part is a whole layer instead of half of one, which keeps half as many inputs. */
  areLayers?: boolean;
}

export interface GraphOptions extends TensorOptions {
  limits: BatchLimits;
  threads: number;
  recompute: Recompute;
  /** Keys and values that are kept: the model answers. `pages` are a count for all sequences together. */
  cache?: Pick<CachePlan, "context" | "pages">;
}

/** The operations up to the end of a residual's part, or those after the last. */
export interface Part {
  operations: Operation[];
  /** What is computed again before its backward pass. */
  recompute: "all" | "cheap" | "nothing";
}

/** Constants of the memory, which are written once. */
export interface Constant {
  at: number;
  values: () => Float32Array;
}

/** Where the adapters of an answering model have their entries for each linear map [out, in], by its name. */
export type AdaptedMaps = Record<string, { at: Address; out: number; in: number }>;

/** A model's memory, and what its operations do there. */
export interface GraphPlan {
  limits: BatchLimits;
  batch: BatchPlan;
  cache: CachePlan | undefined;
  tensors: TensorPlan;
  adapted: AdaptedMaps;
  constants: Constant[];
  /** The embedding, then the residual's parts, then what follows them. */
  parts: Part[];
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
    owners: words(limits.tokens),
    runs: words(limits.sequences * RUN_WORDS),
  };
  const adapted: AdaptedMaps = {};
  const { plan: tensors, ...places } = createTensors(arena, options);
  const constants: Constant[] = [];
  const parts: Part[] = [{ operations: [], recompute: "nothing" }];
  const angles = new Map<string, ReturnType<Graph["angles"]>>();
  const shared = createSharedRoom(words);
  const part = () => parts.at(-1)!;
  let halves = 0;
  /** Whether the current sum, of the embedding or half a layer, becomes the next part's input. */
  const isInput = () => !recompute.areLayers || halves % 2 === 0;

  function endPart(): void {
    const isEnd = isInput();
    halves++;
    if (!isEnd) return;
    const isAll = parts.length <= recompute.parts;
    parts.push({
      operations: [],
      recompute: isAll ? "all" : recompute.cheap ? "cheap" : "nothing",
    });
    shared.restart();
  }

  const keep: Graph["keep"] = (count, { isCheap = false, isSmall = false } = {}) => {
    const { recompute } = part();
    const isShared =
      cache !== undefined ||
      (recompute === "all" && !isSmall) ||
      (recompute === "cheap" && isCheap);
    return isShared ? shared.take(isCheap ? "cheap" : "whole", count) : words(count);
  };
  const gradient = (count: number) =>
    cache === undefined ? shared.take("gradient", count) : UNUSED;

  const graph: Graph = {
    ...{ limits, batch, threads, cache, keep },
    ...places,
    add: (operation) => void part().operations.push(operation),
    activation(rows, width, { isCheap = false, isResidual = false } = {}) {
      const count = limits[rows] * width;
      const at = isResidual ? words(count) : keep(count, { isCheap });
      const grad = isResidual && cache === undefined ? words(count) : gradient(count);
      return { ...rowsAt(at, width), width, rows, isResidual, grad: rowsAt(grad, width) };
    },
    residual(to) {
      // An answer's is written in place: nothing reads what it was.
      if (cache !== undefined) return to;
      const count = limits[to.rows] * to.width;
      return { ...to, at: isInput() ? words(count) : keep(count) };
    },
    endPart,
    scratch: (count) => shared.take("scratch", count),
    adapted(name, out, inner) {
      const at = words((1 + MOST_ADAPTERS) * ENTRY_WORDS);
      adapted[name] = { at, out, in: inner };
      return at;
    },
    own: words,
    angles(rope, headDim) {
      const key = JSON.stringify([rope, headDim]);
      const found = angles.get(key);
      if (found) return found;
      const positions = cache?.context ?? limits.longest;
      const count = (positions * headDim) / 2;
      const made = { cosines: words(count), sines: words(count) };
      angles.set(key, made);
      const values = () => rotations(rope, headDim, positions);
      constants.push({ at: made.cosines, values: () => values().cosines });
      constants.push({ at: made.sines, values: () => values().sines });
      return made;
    },
  };
  return { graph, plan: { limits, batch, cache, tensors, adapted, constants, parts } };
}

/** An address that nothing reads or writes. */
const UNUSED = 0;

/** Arrays that the parts use one after another: the n-th of a kind and size is the same in each part. */
function createSharedRoom(words: (count: number) => Address) {
  const arrays = new Map<string, Address>();
  let taken = new Map<string, number>();
  return {
    take(kind: string, count: number): Address {
      const before = taken.get(`${kind} ${count}`) ?? 0;
      taken.set(`${kind} ${count}`, before + 1);
      const key = `${kind} ${count} ${before}`;
      const at = arrays.get(key) ?? words(count);
      arrays.set(key, at);
      return at;
    },
    restart(): void {
      taken = new Map();
    },
  };
}
