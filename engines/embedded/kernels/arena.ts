import { KitError } from "../../../protocol/error.ts";
import type { Address } from "./kernels.ts";

/** The most that a 32-bit address reaches. */
const MOST_GIB = 4;
const MOST_BYTES = MOST_GIB * 2 ** 30;
const PAGE_BYTES = 65536;
/** Reserved for the kernels from address 0, such as a table of logarithms. */
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
  /** Reserves an array of float32 or int32. */
  words: (purpose: Purpose, count: number) => Address;
  regions: Region[];
  /** Bytes so far. */
  sizes: () => Sizes;
}

/** Bytes of each purpose; `all` has the gaps too. */
type Sizes = Record<Purpose | "all", number>;

/**
 * Plans a memory: `place` reserves its arrays.
 * @param advice what to lower
 * @throws KitError `OUT_OF_MEMORY` with the sizes when it is more than WebAssembly has
 */
export function planArena<Plan>(
  place: (arena: Arena) => Plan,
  advice: string,
): Plan & { arena: Arena } {
  const arena = createArena();
  const plan = place(arena);
  assertFits(arena.sizes(), advice);
  return { ...plan, arena };
}

/** Allocates a planned memory. The system commits pages only when they are written. */
export function allocate(arena: Arena): WebAssembly.Memory {
  const pages = Math.ceil(arena.sizes().all / PAGE_BYTES);
  return new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
}

export function createArena(): Arena {
  const regions: Region[] = [];
  const sizes = { weights: 0, gradients: 0, moments: 0, activations: 0, work: 0 };
  let end = STATIC_BYTES + GUARD_BYTES;
  function bytes(purpose: Purpose, count: number): Address {
    const address = Math.ceil(end / ALIGNMENT) * ALIGNMENT;
    regions.push({ address, bytes: count, purpose });
    sizes[purpose] += count;
    end = address + count + GUARD_BYTES;
    return address;
  }
  const words = (purpose: Purpose, count: number) => bytes(purpose, count * 4);
  return { bytes, words, regions, sizes: () => ({ ...sizes, all: end }) };
}

function assertFits({ all, ...sizes }: Sizes, advice: string): void {
  if (all <= MOST_BYTES) return;
  const parts = Object.entries(sizes).filter(([, bytes]) => bytes > 0);
  const list = parts.map(([purpose, bytes]) => `${purpose} ${gibibytes(bytes)}`).join(", ");
  throw new KitError(
    "OUT_OF_MEMORY",
    `The model needs ${gibibytes(all)} GiB of memory (${list}), but WebAssembly has only ${MOST_GIB}. ${advice}.`,
  );
}

function gibibytes(bytes: number): string {
  return (bytes / 2 ** 30).toFixed(2);
}
