/** What the backward pass recomputes, bit for bit, so that the model's segments can share memory. */
export interface Recompute {
  /** Whether to recompute all segments' cheap operations. */
  cheap: boolean;
  /**
   * Number of the layers' segments, in order, to recompute entirely from their inputs. The embedding's is never
   * recomputed.
   */
  segments: number;
  /** Whether a segment is a whole layer instead of half of one, so that half as many inputs are saved. */
  isPerLayer?: boolean;
}

/** A run of operations that ends with an addition to the residual; the last segment follows the last addition. */
export interface Segment<Operation> {
  operations: Operation[];
  /** What to recompute before its backward pass. */
  recompute: "all" | "cheap" | "nothing";
}

export interface SaveOptions {
  /** Whether it is cheap to recompute from the rest of the segment. */
  isCheap?: boolean;
  /** Whether it is too small to be worth recomputing. */
  isSmall?: boolean;
}

interface Options<Memory> {
  recompute: Recompute;
  /** Reserves an array of `count` words. */
  reserve: (count: number) => Memory;
  /** Whether all segments share all arrays, as without a backward pass. */
  sharesAll?: boolean;
}

/** Plans the arrays of a model's operations, segment by segment. Counts are in words. */
export function createSegments<Operation, Memory>({
  recompute,
  reserve,
  sharesAll = false,
}: Options<Memory>) {
  const segments: Segment<Operation>[] = [{ operations: [], recompute: "nothing" }];
  const shared = createSharedArrays(reserve);
  const current = () => segments.at(-1)!;
  let halfLayers = 0;
  /** Whether the current residual becomes a segment's input. */
  const startsSegment = () => !recompute.isPerLayer || halfLayers % 2 === 0;

  /** Memory that the forward pass saves for the backward pass. */
  function saved(count: number, { isCheap = false, isSmall = false }: SaveOptions = {}): Memory {
    const segment = current();
    const isShared =
      sharesAll ||
      (segment.recompute === "all" && !isSmall) ||
      (segment.recompute === "cheap" && isCheap);
    return isShared ? shared.take(isCheap ? "cheap" : "whole", count) : reserve(count);
  }

  return {
    segments,
    saved,
    add: (operation: Operation) => void current().operations.push(operation),
    /** The gradient of a result within a segment. */
    gradient: (count: number) => shared.take("gradient", count),
    /** Memory that no other operation reads. */
    scratch: (count: number) => shared.take("scratch", count),
    /** The residual after an addition. */
    residual: (count: number) => (startsSegment() ? reserve(count) : saved(count)),
    /** Ends a segment: what follows needs only the residual. */
    endSegment(): void {
      const endsHere = startsSegment();
      halfLayers++;
      if (!endsHere) return;
      const isAll = segments.length <= recompute.segments;
      segments.push({
        operations: [],
        recompute: isAll ? "all" : recompute.cheap ? "cheap" : "nothing",
      });
      shared.restart();
    },
  };
}

/** Arrays that all segments share: the n-th array of a kind and size is the same in each segment. */
function createSharedArrays<Memory>(reserve: (count: number) => Memory) {
  const arrays = new Map<string, Memory>();
  let taken = new Map<string, number>();
  return {
    take(kind: string, count: number): Memory {
      const index = taken.get(`${kind} ${count}`) ?? 0;
      taken.set(`${kind} ${count}`, index + 1);
      const key = `${kind} ${count} ${index}`;
      const at = arrays.get(key) ?? reserve(count);
      arrays.set(key, at);
      return at;
    },
    restart(): void {
      taken = new Map();
    },
  };
}

export const RECOMPUTE_NOTHING: Recompute = { cheap: false, segments: 0 };
export const RECOMPUTE_CHEAP: Recompute = { cheap: true, segments: 0 };

/**
 * Chooses the recomputation: nothing up to `small`; else the cheap operations, plus the fewest segments that keep
 * memory within `moderate`; else whole layers.
 * @param bytesWith memory with a recomputation
 */
export function minimalRecompute(
  layers: number,
  bytesWith: (recompute: Recompute) => number,
  { small, moderate }: { small: number; moderate: number },
): Recompute {
  const segments = 2 * layers;
  const isModerate = (count: number) => bytesWith({ cheap: true, segments: count }) <= moderate;
  if (bytesWith(RECOMPUTE_NOTHING) <= small) return RECOMPUTE_NOTHING;
  if (!isModerate(segments)) return { cheap: true, segments: layers, isPerLayer: true };
  // Binary search for the fewest segments: recomputing more never needs more memory.
  let [low, high] = [0, segments];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (isModerate(middle)) high = middle;
    else low = middle + 1;
  }
  return { cheap: true, segments: low };
}
