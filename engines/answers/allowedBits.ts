/** Tokens of a word of bits. */
const BITS = 32;

/** Words that have a bit for each token. */
export function wordsOfBits(vocabulary: number): number {
  return Math.ceil(vocabulary / BITS);
}

/** A bit [vocabulary] for each token, from the lowest of a word on: 1 if it may be chosen. */
export function allowedBits(vocabulary: number, may: (token: number) => boolean): Int32Array {
  const bits = new Int32Array(wordsOfBits(vocabulary));
  for (let token = 0; token < vocabulary; token++) {
    if (may(token)) bits[Math.floor(token / BITS)]! |= 1 << (token % BITS);
  }
  return bits;
}
