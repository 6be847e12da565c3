/** float32 numbers, or the bits of bfloat16. */
export type Numbers = Float32Array | Uint16Array;

/** A dense tensor in memory, row-major. */
export interface Tensor<N extends Numbers = Float32Array> {
  shape: number[];
  data: N;
}

/** A model's tensors by name; matrices are [out, in]. */
export type Weights = Record<string, Tensor>;

/** A model's tensors by name, each in the type that its checkpoint has. */
export type StoredWeights = Record<string, Tensor<Numbers>>;

export interface WeightCounts {
  tensors: number;
  /** Total elements of all tensors. */
  numbers: number;
}

export function isBfloat16({ data }: Tensor<Numbers>): boolean {
  return data instanceof Uint16Array;
}

const EXPONENT = 0x7f80;

/** Whether every number is finite. A loop, because `every` takes ten times as long. */
export function areFinite(data: Numbers): boolean {
  if (data instanceof Float32Array) {
    for (let i = 0; i < data.length; i++) if (!Number.isFinite(data[i])) return false;
  } else {
    for (let i = 0; i < data.length; i++) if ((data[i]! & EXPONENT) === EXPONENT) return false;
  }
  return true;
}

/** Weights in float32; those that already are aren't copied. */
export function widen(weights: StoredWeights): Weights {
  return Object.fromEntries(
    Object.entries(weights).map(([name, { shape, data }]) => [
      name,
      { shape, data: widened(data) },
    ]),
  );
}

/** Numbers in float32. */
export function widened(numbers: Numbers): Float32Array {
  if (numbers instanceof Float32Array) return numbers;
  const bits = new Uint32Array(numbers.length);
  for (let i = 0; i < bits.length; i++) bits[i] = numbers[i]! << 16;
  return new Float32Array(bits.buffer);
}

/** The bits of the nearest bfloat16, ties to even. */
export function toBfloat16(data: Float32Array): Uint16Array<ArrayBuffer> {
  const bits = new Uint32Array(data.buffer, data.byteOffset, data.length);
  const halves = new Uint16Array(data.length);
  for (let i = 0; i < halves.length; i++) {
    halves[i] = (bits[i]! + 0x7fff + ((bits[i]! >>> 16) & 1)) >>> 16;
  }
  return halves;
}

/** Counts tensors and their elements. */
export function countOf(shapes: Record<string, number[]>): WeightCounts {
  const sizes = Object.values(shapes).map((sizes) => sizes.reduce((a, b) => a * b));
  return { tensors: sizes.length, numbers: sizes.reduce((sum, size) => sum + size, 0) };
}
