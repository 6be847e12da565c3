/** Float32 numbers, or the bits of bfloat16: the upper half of float32's. */
export type Numbers = Float32Array | Uint16Array;

/** A dense tensor in memory, row-major. */
export interface Tensor<N extends Numbers = Float32Array> {
  shape: number[];
  data: N;
}

/** A model's tensors by their names; matrices are [out, in]. */
export type Weights = Record<string, Tensor>;

/** The same as a checkpoint has them. */
export type StoredWeights = Record<string, Tensor<Numbers>>;

export interface WeightCounts {
  tensors: number;
  /** In all tensors together. */
  numbers: number;
}

export function isBfloat16({ data }: Tensor<Numbers>): boolean {
  return data instanceof Uint16Array;
}

const EXPONENT = 0x7f80;

/** Whether every number is finite. Loops, because `every` takes ten times as long for millions. */
export function areFinite(data: Numbers): boolean {
  if (data instanceof Float32Array) {
    for (let i = 0; i < data.length; i++) if (!Number.isFinite(data[i])) return false;
  } else {
    for (let i = 0; i < data.length; i++) if ((data[i]! & EXPONENT) === EXPONENT) return false;
  }
  return true;
}

/** The weights in float32, without copying those that already are. */
export function widen(weights: StoredWeights): Weights {
  return Object.fromEntries(
    Object.entries(weights).map(([name, { shape, data }]) => [
      name,
      { shape, data: widened(data) },
    ]),
  );
}

/** Numbers in float32, without rounding. */
export function widened(numbers: Numbers): Float32Array {
  if (numbers instanceof Float32Array) return numbers;
  const bits = new Uint32Array(numbers.length);
  for (let i = 0; i < bits.length; i++) bits[i] = numbers[i]! << 16;
  return new Float32Array(bits.buffer);
}

/** The bits of bfloat16, each rounded to the nearest, and between two to the even one. */
export function toBfloat16(data: Float32Array): Uint16Array<ArrayBuffer> {
  const bits = new Uint32Array(data.buffer, data.byteOffset, data.length);
  const halves = new Uint16Array(data.length);
  for (let i = 0; i < halves.length; i++) {
    halves[i] = (bits[i]! + 0x7fff + ((bits[i]! >>> 16) & 1)) >>> 16;
  }
  return halves;
}

/** Counts tensors of these dimensions. */
export function countOf(shapes: Record<string, number[]>): WeightCounts {
  const sizes = Object.values(shapes).map((sizes) => sizes.reduce((a, b) => a * b));
  return { tensors: sizes.length, numbers: sizes.reduce((sum, size) => sum + size, 0) };
}
