/** Allocates from a region of memory, first fit. */
export function createAllocator(region: { at: number; bytes: number }) {
  /** Allocated blocks, sorted by address. */
  let taken: { at: number; end: number }[] = [];
  const end = region.at + region.bytes;

  return {
    /** @returns the address of a free block, or undefined if none is large enough */
    allocate(bytes: number): number | undefined {
      const starts = [region.at, ...taken.map((block) => block.end)];
      const i = starts.findIndex((start, i) => start + bytes <= (taken[i]?.at ?? end));
      const at = starts[i];
      if (at === undefined) return undefined;
      taken.splice(i, 0, { at, end: at + Math.ceil(bytes / ALIGNMENT) * ALIGNMENT });
      return at;
    },
    free(at: number): void {
      taken = taken.filter((block) => block.at !== at);
    },
  };
}

/** In bytes. */
const ALIGNMENT = 64;
