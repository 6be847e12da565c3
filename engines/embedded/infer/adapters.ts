import type { Update } from "../../lora/updates.ts";
import type { Kernels } from "../kernels/kernels.ts";
import { PANEL } from "../kernels/matmuls.ts";
import type { AdapterTables } from "../model/graph.ts";
import { ENTRY_WORDS, MAX_ADAPTERS, MAX_RANK } from "../ops/adapters.ts";
import { createAllocator } from "./allocator.ts";

/** An adapter's updates, by tensor name. */
export type Updates = Readonly<Record<string, Update>>;

/** An adapter in a decoder's memory. */
export interface Adapter {
  /** Counted from 1. Reused once the adapter is removed. */
  slot: number;
  /** Never reused. */
  id: number;
}

interface Memory {
  memory: WebAssembly.Memory;
  kernels: Kernels;
  linears: AdapterTables;
  /** The memory reserved for adapters. */
  region: { at: number; bytes: number };
  /** Address of a buffer for one panel of any matrix. */
  staging: number;
}

/** Bytes of an adapter, in whole panels. */
export function adapterBytes(updates: Updates): number {
  return Object.values(updates).reduce((sum, { a, b, r }) => {
    const [columns, rows] = [a.length / r, b.length / r];
    return sum + 4 * (panelRows(r) * columns + panelRows(rows) * r);
  }, 0);
}

/** The adapters in a decoder's memory, shared by its threads. */
export function createAdapters({ memory, kernels, linears, region, staging }: Memory) {
  const { buffer } = memory;
  const allocator = createAllocator(region);
  const addresses = new Map<Adapter, number>();
  let lastId = 0;

  /** @returns undefined if the region is full or a rank exceeds `MAX_RANK` */
  function add(updates: Updates): Adapter | undefined {
    const ranks = Object.values(updates).map(({ r }) => r);
    const slot = freeSlot();
    if (slot > MAX_ADAPTERS || Math.max(0, ...ranks) > MAX_RANK) return undefined;
    const at = allocator.allocate(adapterBytes(updates));
    if (at === undefined) return undefined;
    const adapter = { slot, id: ++lastId };
    addresses.set(adapter, at);
    let next = at;
    /** Writes a matrix [rows, columns] in panels. @returns its address */
    function write(data: Float32Array, rows: number, columns: number): number {
      const to = next;
      const elements = panelRows(rows) * columns;
      new Float32Array(buffer, to, elements).fill(0, rows * columns).set(data);
      kernels.makePanels(panelRows(rows), columns, to, false, staging);
      next += elements * 4;
      return to;
    }
    for (const [name, linear] of Object.entries(linears)) {
      const entry = new Int32Array(buffer, linear.at + slot * ENTRY_WORDS * 4, ENTRY_WORDS);
      const update = updates[`${name}.weight`];
      if (update) {
        const { a, b, r, scale } = update;
        const scaled = b.map((value) => value * scale);
        entry.set([write(a, r, linear.in), write(scaled, linear.out, r), r]);
      } else entry.fill(0);
    }
    return adapter;
  }

  function freeSlot(): number {
    const taken = new Set([...addresses.keys()].map(({ slot }) => slot));
    let slot = 1;
    while (taken.has(slot)) slot++;
    return slot;
  }

  /** Frees an adapter that no sequence uses. Idempotent. */
  function remove(adapter: Adapter): void {
    const at = addresses.get(adapter);
    if (at !== undefined) allocator.free(at);
    addresses.delete(adapter);
  }

  return { add, remove };
}

function panelRows(rows: number): number {
  return Math.ceil(rows / PANEL) * PANEL;
}
