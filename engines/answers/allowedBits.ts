/** Tokens per word. */
const BITS = 32;

/** Length of a token bitmap, in words. */
export function wordsOfBits(vocabulary: number): number {
  return Math.ceil(vocabulary / BITS);
}

/** A bitmap of the allowed tokens, least significant bit first. */
export function allowedBits(vocabulary: number, may: (token: number) => boolean): Int32Array {
  const bits = new Int32Array(wordsOfBits(vocabulary));
  for (let token = 0; token < vocabulary; token++) {
    if (may(token)) bits[Math.floor(token / BITS)]! |= 1 << (token % BITS);
  }
  return bits;
}
