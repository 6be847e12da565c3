import { KitError } from "../../../protocol/error.ts";
import { formatMemory } from "../../training/formatMemory.ts";
import type { Address } from "./kernels.ts";

/** The limit of 32-bit addresses. */
const MAX_GIB = 4;
const MAX_BYTES = MAX_GIB * 2 ** 30;
const PAGE_BYTES = 65536;
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

/** Allocates a planned memory. The system commits pages as they are written. */
export function allocate(arena: Arena): WebAssembly.Memory {
  const pages = Math.ceil(arena.sizes().all / PAGE_BYTES);
  return new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
}

export function createArena(): Arena {
  const regions: Region[] = [];
  const sizes = { weights: 0, gradients: 0, moments: 0, activations: 0, work: 0 };
  let end = STATIC_BYTES + GUARD_BYTES;
  function reserveBytes(purpose: Purpose, count: number): Address {
    const address = Math.ceil(end / ALIGNMENT) * ALIGNMENT;
    regions.push({ address, bytes: count, purpose });
    sizes[purpose] += count;
    end = address + count + GUARD_BYTES;
    return address;
  }
  const reserveWords = (purpose: Purpose, count: number) => reserveBytes(purpose, count * 4);
  return { reserveBytes, reserveWords, regions, sizes: () => ({ ...sizes, all: end }) };
}

function assertFits({ all, ...sizes }: Sizes, advice: string): void {
  if (all <= MAX_BYTES) return;
  throw new KitError(
    "OUT_OF_MEMORY",
    `The model needs ${formatMemory(all, sizes)}, but WebAssembly has only ${MAX_GIB}. ${advice}.`,
  );
}
