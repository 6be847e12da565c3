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

/** Numbers from here on round to infinity. */
const OVERFLOW = 65_520;
const LEAST_NORMAL = 2 ** -14;

/** The bits of half precision, each rounded to the nearest, and between two to the even one. */
export function toFloat16(floats: Float32Array): Uint16Array<ArrayBuffer> {
  const bits = new Uint32Array(floats.buffer, floats.byteOffset, floats.length);
  const halves = new Uint16Array(floats.length);
  for (let i = 0; i < halves.length; i++) {
    const size = Math.abs(floats[i]!);
    const sign = (bits[i]! >>> 16) & 0x8000;
    if (size >= OVERFLOW) halves[i] = sign | EXPONENT;
    else if (size < LEAST_NORMAL) halves[i] = sign | toEven(size / LEAST_SUBNORMAL);
    else {
      const shifted = (bits[i]! & 0x7fff_ffff) - REBIAS;
      halves[i] = sign | ((shifted + 0xfff + ((shifted >>> 13) & 1)) >>> 13);
    }
  }
  return halves;
}

function toEven(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  return below + (rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? 1 : 0);
}
