/** `count` numbers between −1 and 1 that the seed decides. */
export function numbers(count: number, seed: number): Float32Array<ArrayBuffer> {
  let state = (seed * 2654435761) >>> 0;
  return Float32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  });
}

/** The greatest difference of two arrays; infinite if one is longer or has a NaN. */
export function difference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let most = a.length === b.length ? 0 : Infinity;
  for (let i = 0; i < a.length; i++) {
    const d = Math.abs((a[i] ?? NaN) - (b[i] ?? NaN));
    if (Number.isNaN(d)) return Infinity;
    most = Math.max(most, d);
  }
  return most;
}
