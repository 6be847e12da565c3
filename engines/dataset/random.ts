/** A seeded pseudo-random number generator. */
export interface Random {
  /** Uniform in [0, 1). */
  uniform: () => number;
  /** Mean 0, variance 1. */
  normal: () => number;
}

/**
 * Mulberry32 for the bits, Box-Muller for the normal distribution.
 * @param stream separates sequences that share a seed
 */
export function createRandom(seed: number, stream = ""): Random {
  let state = hash(`${seed}/${stream}`);

  function uniform() {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  }

  function normal() {
    const radius = Math.sqrt(-2 * Math.log(1 - uniform()));
    return radius * Math.cos(2 * Math.PI * uniform());
  }

  return { uniform, normal };
}

/** FNV-1a, 32 bits. */
function hash(text: string): number {
  let state = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) state = Math.imul(state ^ text.charCodeAt(i), 0x01000193);
  return state;
}
