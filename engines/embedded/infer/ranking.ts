/**
 * The indexes of the numbers that are at least `least`, largest first, of equal ones the first one
 * first. Sorts only as far as it is asked, since a token is mostly among the likeliest few of
 * 100,000.
 */
export interface Ranking {
  /** A count. */
  readonly length: number;
  /** The index at a rank from 0, below `length`. */
  at: (rank: number) => number;
}

export function createRanking(values: Float64Array, least: number): Ranking {
  /** A heap of the first `left`, largest first; behind it those of each rank so far, from the end. */
  const order = new Uint32Array(values.length);
  let length = 0;
  for (let index = 0; index < values.length; index++) {
    if (values[index]! >= least) order[length++] = index;
  }
  let left = length;
  for (let node = (length >> 1) - 1; node >= 0; node--) sink(node);

  function isBefore(one: number, other: number): boolean {
    const difference = values[one]! - values[other]!;
    return difference > 0 || (difference === 0 && one < other);
  }

  function sink(from: number): void {
    const index = order[from]!;
    let node = from;
    for (let child = 2 * node + 1; child < left; child = 2 * node + 1) {
      if (child + 1 < left && isBefore(order[child + 1]!, order[child]!)) child++;
      if (!isBefore(order[child]!, index)) break;
      order[node] = order[child]!;
      node = child;
    }
    order[node] = index;
  }

  return {
    length,
    at(rank) {
      while (left > length - 1 - rank) {
        const first = order[0]!;
        order[0] = order[--left]!;
        sink(0);
        order[left] = first;
      }
      return order[length - 1 - rank]!;
    },
  };
}
