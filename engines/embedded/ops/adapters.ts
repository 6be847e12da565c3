import type { LinearLayer } from "../../families/layers.ts";
import { type Rows, columnsFrom, rowsAt } from "../kernels/matmuls.ts";
import {
  type Activation,
  type CachePlan,
  type Graph,
  type OperationContext,
  RUN_WORDS,
} from "./operation.ts";

/** Maximum rank of an adapter. */
export const MAX_RANK = 256;
/** Maximum adapters in memory. */
export const MAX_ADAPTERS = 64;
/** int32 words of a linear layer's entry for each adapter: addresses of A and B, and r, or 0 without an update. */
export const ENTRY_WORDS = 3;

/**
 * Plans y += (x·Aᵀ)·Bᵀ for adjacent linear layers, with each token's adapter. The batch never changes a row's bits.
 * @returns a function that creates a thread's operation, which reads x without waiting at a barrier
 */
export function planAdapters(
  graph: Graph,
  x: Activation,
  linears: readonly LinearLayer[],
  { y, runs }: { y: Rows; runs: CachePlan["runs"] },
) {
  const { limits } = graph;
  let next = 0;
  const linearUpdates = linears.map(({ name, out }) => {
    const columns = columnsFrom(y, next);
    next += out;
    const z = rowsAt(graph.scratch(limits[x.rows] * MAX_RANK), MAX_RANK);
    return { entries: graph.adapterTable(name, out, x.width), out, columns, z };
  });
  return ({ kernels, matmuls, memory, batch }: OperationContext) => {
    const runWords = new Int32Array(memory.buffer, runs, limits.sequences * RUN_WORDS);
    const updates = linearUpdates.map(({ entries, ...update }) => ({
      ...update,
      entries: new Int32Array(memory.buffer, entries, (1 + MAX_ADAPTERS) * ENTRY_WORDS),
    }));
    return function add(): void {
      for (let i = 0; i < batch.runs * RUN_WORDS; i += RUN_WORDS) {
        const [from = 0, count = 0, adapter = 0] = runWords.subarray(i);
        const entry = adapter * ENTRY_WORDS;
        for (const { entries, z } of updates) {
          const [at = 0, , r = 0] = entries.subarray(entry);
          const a = { at, out: r, in: x.width };
          if (r > 0) matmuls.panels(count, rowsFrom(x, from), a, rowsFrom(z, from));
        }
        kernels.barrier();
        for (const { entries, out, columns, z } of updates) {
          const [, at = 0, r = 0] = entries.subarray(entry);
          const to = rowsFrom(columns, from);
          if (r > 0) matmuls.panels(count, rowsFrom(z, from), { at, out, in: r }, to, to.at);
        }
      }
    };
  };
}

function rowsFrom({ at, row }: Rows, from: number): Rows {
  return { at: at + from * row * 4, row };
}
