import { KitError } from "../../../protocol/error.ts";
import { MOST_BYTES, MOST_GIB } from "../../webassembly.ts";
import type { Address } from "./kernels.ts";

const PAGE_BYTES = 65536;
/** What the kernels keep for themselves from address 0 on, such as a table of logarithms. */
const STATIC_BYTES = 16384;
/** Arrays begin on cache lines. */
const ALIGNMENT = 64;
/** Left free before the first array and behind each, so that a test can write guard words there. */
export const GUARD_BYTES = 64;

/** Names an array in the error when a plan doesn't fit. */
export type Purpose = "weights" | "gradients" | "moments" | "activations" | "work";

/** An array of the arena. */
export interface Region {
  address: Address;
  bytes: number;
  purpose: Purpose;
}

/** Where every array lies in a memory that is not allocated yet. */
export interface Arena {
  /** Reserves an array; it is 0 at first. */
  bytes: (purpose: Purpose, count: number) => Address;
  /** Of float32 or int32. */
  words: (purpose: Purpose, count: number) => Address;
  regions: Region[];
  /** In all, so far. */
  size: () => number;
}

export function createArena(): Arena {
  const regions: Region[] = [];
  let end = STATIC_BYTES + GUARD_BYTES;
  function bytes(purpose: Purpose, count: number): Address {
    const address = Math.ceil(end / ALIGNMENT) * ALIGNMENT;
    regions.push({ address, bytes: count, purpose });
    end = address + count + GUARD_BYTES;
    return address;
  }
  const words = (purpose: Purpose, count: number) => bytes(purpose, count * 4);
  return { bytes, words, regions, size: () => end };
}

/**
 * Allocates the arena's memory. The system commits pages only when they are written.
 * @throws KitError `OUT_OF_MEMORY` with the sizes when it is more than WebAssembly has
 */
export function allocate(arena: Arena, advice: string): WebAssembly.Memory {
  assertFits(arena, advice);
  const pages = Math.ceil(arena.size() / PAGE_BYTES);
  return new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
}

/** @param advice what to lower */
export function assertFits(arena: Arena, advice: string): void {
  if (arena.size() <= MOST_BYTES) return;
  const sizes = new Map<Purpose, number>();
  for (const { purpose, bytes } of arena.regions) {
    sizes.set(purpose, (sizes.get(purpose) ?? 0) + bytes);
  }
  const parts = [...sizes].map(([purpose, bytes]) => `${purpose} ${gibibytes(bytes)}`).join(", ");
  throw new KitError(
    "OUT_OF_MEMORY",
    `The model needs ${gibibytes(arena.size())} GiB of memory (${parts}), but WebAssembly has only ${MOST_GIB}. ${advice}.`,
  );
}

function gibibytes(bytes: number): string {
  return (bytes / 2 ** 30).toFixed(2);
}
