/** Hands out parts of a region of memory, the first that is large enough. */
export function createRooms(region: { at: number; bytes: number }) {
  /** In their order. */
  let taken: { at: number; end: number }[] = [];
  const end = region.at + region.bytes;

  return {
    /** @returns the address of so many bytes, or undefined where there are not as many in a row */
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
