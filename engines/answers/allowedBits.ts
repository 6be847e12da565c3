/** Tokens per word of a bitmap. */
const BITS_PER_WORD = 32;

/** Length of a bitmap of all tokens, in 32-bit words. */
export function bitmapLength(vocabulary: number): number {
  return Math.ceil(vocabulary / BITS_PER_WORD);
}

/** A bitmap of the allowed tokens, least significant bit first. */
export function allowedBits(vocabulary: number, isAllowed: (token: number) => boolean): Int32Array {
  const bits = new Int32Array(bitmapLength(vocabulary));
  for (let token = 0; token < vocabulary; token++) {
    if (isAllowed(token)) bits[Math.floor(token / BITS_PER_WORD)]! |= 1 << (token % BITS_PER_WORD);
  }
  return bits;
}
