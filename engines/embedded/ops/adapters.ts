import type { LinearMap } from "../../families/layers.ts";
import { type Rows, columnsFrom, rowsAt } from "../kernels/products.ts";
import {
  type Activation,
  type CachePlan,
  type Graph,
  type Worker,
  RUN_WORDS,
} from "./operation.ts";

/** Of an adapter, at most. */
export const MOST_RANK = 256;
/** Adapters that an answering model has at once, at most. */
export const MOST_ADAPTERS = 64;
/** int32 words of a map's entry for each adapter: addresses of A and B, and r, which is 0 for an unadapted map. */
export const ENTRY_WORDS = 3;

/**
 * Plans y += (x·Aᵀ)·Bᵀ for linear maps side by side, by the adapter of each token: the same bits for a row alone and
 * among others.
 * @returns what each thread does of it. It waits at no barrier before it reads x.
 */
export function placeAdapters(
  graph: Graph,
  x: Activation,
  maps: readonly LinearMap[],
  { y, runs }: { y: Rows; runs: CachePlan["runs"] },
) {
  const { limits } = graph;
  let next = 0;
  const places = maps.map(({ name, out }) => {
    const part = columnsFrom(y, next);
    next += out;
    const z = rowsAt(graph.scratch(limits[x.rows] * MOST_RANK), MOST_RANK);
    return { entries: graph.adapted(name, out, x.width), out, part, z };
  });
  return ({ kernels, products, memory, batch }: Worker) => {
    const run = new Int32Array(memory.buffer, runs, limits.sequences * RUN_WORDS);
    const updates = places.map(({ entries, ...place }) => ({
      ...place,
      entries: new Int32Array(memory.buffer, entries, (1 + MOST_ADAPTERS) * ENTRY_WORDS),
    }));
    return function add(): void {
      for (let i = 0; i < batch.runs * RUN_WORDS; i += RUN_WORDS) {
        const [from = 0, count = 0, adapter = 0] = run.subarray(i);
        const entry = adapter * ENTRY_WORDS;
        for (const { entries, z } of updates) {
          const [at = 0, , r = 0] = entries.subarray(entry);
          const a = { at, out: r, in: x.width };
          if (r > 0) products.panels(count, rowsFrom(x, from), a, rowsFrom(z, from));
        }
        kernels.barrier();
        for (const { entries, out, part, z } of updates) {
          const [, at = 0, r = 0] = entries.subarray(entry);
          const to = rowsFrom(part, from);
          if (r > 0) products.panels(count, rowsFrom(z, from), { at, out, in: r }, to, to.at);
        }
      }
    };
  };
}

function rowsFrom({ at, row }: Rows, from: number): Rows {
  return { at: at + from * row * 4, row };
}
