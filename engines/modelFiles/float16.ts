const EXPONENT = 0x7c00;
const FRACTION = 0x03ff;
/** Converts float16's exponent bias, 15, to float32's, 127. */
const REBIAS = (127 - 15) << 23;
const MIN_SUBNORMAL = 2 ** -24;
/** Numbers from here on round to infinity. */
const OVERFLOW = 65_520;
const MIN_NORMAL = 2 ** -14;

/** The same memory as a float32 and as its bits. */
const float = new Float32Array(1);
const bits = new Uint32Array(float.buffer);

/** The number with these float16 bits. */
export function fromHalf(half: number): number {
  const sign = half & 0x8000;
  const exponent = half & EXPONENT;
  if (exponent === 0) return (sign ? -1 : 1) * (half & FRACTION) * MIN_SUBNORMAL;
  if (exponent === EXPONENT) return half & FRACTION ? NaN : sign ? -Infinity : Infinity;
  bits[0] = (sign << 16) | (((half & 0x7fff) << 13) + REBIAS);
  return float[0]!;
}

/** The bits of the nearest float16, ties to even. */
export function toHalf(number: number): number {
  float[0] = number;
  const size = Math.abs(number);
  const sign = (bits[0]! >>> 16) & 0x8000;
  if (size >= OVERFLOW) return sign | EXPONENT;
  if (size < MIN_NORMAL) return sign | toEven(size / MIN_SUBNORMAL);
  const shifted = (bits[0]! & 0x7fff_ffff) - REBIAS;
  return sign | ((shifted + 0xfff + ((shifted >>> 13) & 1)) >>> 13);
}

export function fromFloat16(halves: Uint16Array): Float32Array<ArrayBuffer> {
  const floats = new Float32Array(halves.length);
  for (let i = 0; i < halves.length; i++) floats[i] = fromHalf(halves[i]!);
  return floats;
}

export function toFloat16(floats: Float32Array): Uint16Array<ArrayBuffer> {
  const halves = new Uint16Array(floats.length);
  for (let i = 0; i < halves.length; i++) halves[i] = toHalf(floats[i]!);
  return halves;
}

function toEven(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  return below + (rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? 1 : 0);
}
