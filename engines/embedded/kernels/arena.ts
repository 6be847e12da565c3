import { KitError } from "../../../protocol/error.ts";
import { formatMemory } from "../../training/formatMemory.ts";
import type { Address } from "./kernels.ts";

/** The limit of 32-bit addresses. */
const MAX_GIB = 4;
const MAX_BYTES = MAX_GIB * 2 ** 30;
const PAGE_BYTES = 65536;
/** A memory grows by at least this much. */
const GROWTH_BYTES = 2 ** 25;
/** Reserved for the kernels' static data at address 0, such as a table of logarithms. */
const STATIC_BYTES = 16384;
/** Arrays begin on cache lines. */
const ALIGNMENT = 64;
/** Unused bytes before the first array and after each array. Tests put guard words there. */
export const GUARD_BYTES = 64;

/** An array's purpose, for the error if a plan doesn't fit. */
export type Purpose = "weights" | "gradients" | "moments" | "activations" | "work";

/** An array in the arena. */
export interface Region {
  address: Address;
  bytes: number;
  purpose: Purpose;
}

/** A plan of one memory, which isn't allocated yet. */
export interface Arena {
  /** Reserves a zeroed array. */
  reserveBytes: (purpose: Purpose, count: number) => Address;
  /** Reserves a zeroed array of float32 or int32. */
  reserveWords: (purpose: Purpose, count: number) => Address;
  /** Reserves an array after all others, in memory that grows. Its address is `growsFrom` and what was reserved so before. */
  reserveLast: (purpose: Purpose, bytes: number) => void;
  /** The first address of memory that grows, once all arrays are reserved. */
  growsFrom: () => Address;
  regions: Region[];
  /** Bytes reserved so far. */
  sizes: () => Sizes;
}

/** Bytes by purpose; `all` includes the gaps. */
type Sizes = Record<Purpose | "all", number>;

/**
 * Plans a memory with the arrays that `reserve` reserves.
 * @param advice what to do if it doesn't fit
 * @throws KitError `OUT_OF_MEMORY` with the sizes if it exceeds WebAssembly's limit
 */
export function planArena<Plan>(
  reserve: (arena: Arena) => Plan,
  advice: string,
): Plan & { arena: Arena } {
  const arena = createArena();
  const plan = reserve(arena);
  assertFits(arena.sizes(), advice);
  return { ...plan, arena };
}

/**
 * Allocates a planned memory, but for what grows: Windows charges for all of it at once. Other systems commit pages
 * as they are written.
 */
export function allocate(arena: Arena): WebAssembly.Memory {
  const [initial, maximum] = [pagesIn(arena.growsFrom()), pagesIn(arena.sizes().all)];
  return new WebAssembly.Memory({ initial, maximum, shared: true });
}

/**
 * Grows an arena's memory to an address.
 * @throws KitError `OUT_OF_MEMORY` if the system has too little
 */
export function growTo(arena: Arena, memory: WebAssembly.Memory, end: Address): void {
  const { byteLength } = memory.buffer;
  if (end <= byteLength) return;
  const target = Math.min(Math.max(end, byteLength + GROWTH_BYTES), arena.sizes().all);
  try {
    memory.grow(pagesIn(target) - pagesIn(byteLength));
  } catch (cause) {
    throw new KitError(
      "OUT_OF_MEMORY",
      "The system has no memory left for longer prompts and answers. Close other programs, or use a smaller model.",
      { cause },
    );
  }
}

function pagesIn(bytes: number): number {
  return Math.ceil(bytes / PAGE_BYTES);
}

export function createArena(): Arena {
  const regions: Region[] = [];
  const sizes = { weights: 0, gradients: 0, moments: 0, activations: 0, work: 0 };
  let end = STATIC_BYTES + GUARD_BYTES;
  let lastBytes = 0;
  function reserveBytes(purpose: Purpose, count: number): Address {
    const address = Math.ceil(end / ALIGNMENT) * ALIGNMENT;
    regions.push({ address, bytes: count, purpose });
    sizes[purpose] += count;
    end = address + count + GUARD_BYTES;
    return address;
  }
  const reserveWords = (purpose: Purpose, count: number) => reserveBytes(purpose, count * 4);
  function reserveLast(purpose: Purpose, bytes: number): void {
    sizes[purpose] += bytes;
    lastBytes += bytes;
  }
  const growsFrom = () => Math.ceil(end / ALIGNMENT) * ALIGNMENT;
  const all = () => (lastBytes > 0 ? growsFrom() + lastBytes : end);
  const reserved = { regions, sizes: () => ({ ...sizes, all: all() }) };
  return { reserveBytes, reserveWords, reserveLast, growsFrom, ...reserved };
}

function assertFits({ all, ...sizes }: Sizes, advice: string): void {
  if (all <= MAX_BYTES) return;
  throw new KitError(
    "OUT_OF_MEMORY",
    `The model needs ${formatMemory(all, sizes)}, but WebAssembly has only ${MAX_GIB}. ${advice}.`,
  );
}
