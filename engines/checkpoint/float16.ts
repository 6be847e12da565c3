const EXPONENT = 0x7c00;
const FRACTION = 0x03ff;
/** From the exponent's bias of float16, 15, to that of float32, 127. */
const REBIAS = (127 - 15) << 23;
const LEAST_SUBNORMAL = 2 ** -24;

/** The numbers of IEEE 754 half precision that have these bits; all fit float32. */
export function fromFloat16(halves: Uint16Array): Float32Array<ArrayBuffer> {
  const floats = new Float32Array(halves.length);
  const bits = new Uint32Array(floats.buffer);
  for (let i = 0; i < halves.length; i++) {
    const half = halves[i]!;
    const sign = half & 0x8000;
    const exponent = half & EXPONENT;
    if (exponent === 0) floats[i] = (sign ? -1 : 1) * (half & FRACTION) * LEAST_SUBNORMAL;
    else if (exponent === EXPONENT) floats[i] = half & FRACTION ? NaN : sign ? -Infinity : Infinity;
    else bits[i] = (sign << 16) | (((half & 0x7fff) << 13) + REBIAS);
  }
  return floats;
}
