import type { Update } from "../../lora/merged.ts";
import type { Kernels } from "../kernels/kernels.ts";
import { PANEL } from "../kernels/products.ts";
import type { AdaptedMaps } from "../model/graph.ts";
import { ENTRY_WORDS, MOST_ADAPTERS, MOST_RANK } from "../ops/adapters.ts";
import { createRooms } from "./rooms.ts";

/** What an adapter adds to a model's matrices, by their tensors' names. */
export type Updates = Readonly<Record<string, Update>>;

/** An adapter in a decoder's memory. */
export interface Adapter {
  /** From 1. */
  place: number;
  /** Never given twice. */
  number: number;
}

interface Memory {
  memory: WebAssembly.Memory;
  kernels: Kernels;
  maps: AdaptedMaps;
  /** Where adapters lie. */
  region: { at: number; bytes: number };
  /** As large as a panel of any matrix. */
  staging: number;
}

/** Bytes of an adapter, whose matrices lie in whole panels. */
export function adapterBytes(updates: Updates): number {
  return Object.values(updates).reduce((sum, { a, b, r }) => {
    const [columns, rows] = [a.length / r, b.length / r];
    return sum + 4 * (panelRows(r) * columns + panelRows(rows) * r);
  }, 0);
}

/** Adapters of one base in a decoder's memory, where all of its threads find them. */
export function createAdapters({ memory, kernels, maps, region, staging }: Memory) {
  const { buffer } = memory;
  const rooms = createRooms(region);
  const kept = new Map<Adapter, number>();
  let count = 0;

  /** @returns undefined if the region is full or a rank exceeds `MOST_RANK` */
  function add(updates: Updates): Adapter | undefined {
    const ranks = Object.values(updates).map(({ r }) => r);
    const place = freePlace();
    if (place > MOST_ADAPTERS || Math.max(0, ...ranks) > MOST_RANK) return undefined;
    const at = rooms.take(adapterBytes(updates));
    if (at === undefined) return undefined;
    const adapter = { place, number: ++count };
    kept.set(adapter, at);
    let next = at;
    /** Writes a matrix [rows, columns]. */
    function put(data: Float32Array, rows: number, columns: number): number {
      const to = next;
      const numbers = panelRows(rows) * columns;
      new Float32Array(buffer, to, numbers).fill(0, rows * columns).set(data);
      kernels.makePanels(panelRows(rows), columns, to, false, staging);
      next += numbers * 4;
      return to;
    }
    for (const [name, map] of Object.entries(maps)) {
      const entry = new Int32Array(buffer, map.at + place * ENTRY_WORDS * 4, ENTRY_WORDS);
      const update = updates[`${name}.weight`];
      if (update) {
        const { a, b, r, scale } = update;
        const scaled = b.map((value) => value * scale);
        entry.set([put(a, r, map.in), put(scaled, map.out, r), r]);
      } else entry.fill(0);
    }
    return adapter;
  }

  function freePlace(): number {
    const taken = new Set([...kept.keys()].map(({ place }) => place));
    let place = 1;
    while (taken.has(place)) place++;
    return place;
  }

  /** No sequence may use it any more. Idempotent. */
  function remove(adapter: Adapter): void {
    const at = kept.get(adapter);
    if (at !== undefined) rooms.give(at);
    kept.delete(adapter);
  }

  return { add, remove };
}

function panelRows(rows: number): number {
  return Math.ceil(rows / PANEL) * PANEL;
}
