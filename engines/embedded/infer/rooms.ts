/** Allocates from a region of memory, first fit. */
export function createRooms(region: { at: number; bytes: number }) {
  /** In their order. */
  let taken: { at: number; end: number }[] = [];
  const end = region.at + region.bytes;

  return {
    /** @returns the address of a free block, or undefined if none is large enough */
    take(bytes: number): number | undefined {
      const starts = [region.at, ...taken.map((room) => room.end)];
      const i = starts.findIndex((start, i) => start + bytes <= (taken[i]?.at ?? end));
      const at = starts[i];
      if (at === undefined) return undefined;
      taken.splice(i, 0, { at, end: at + Math.ceil(bytes / ALIGNMENT) * ALIGNMENT });
      return at;
    },
    give(at: number): void {
      taken = taken.filter((room) => room.at !== at);
    },
  };
}

const ALIGNMENT = 64;
