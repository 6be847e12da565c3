/** A dense tensor on the JavaScript side, row-major. */
export interface Tensor {
  shape: number[];
  data: Float32Array;
}

/** A model's tensors by their names; matrices are [out, in]. */
export type Weights = Record<string, Tensor>;

export interface WeightCounts {
  tensors: number;
  /** In all tensors together. */
  numbers: number;
}

/** A tensor as a checkpoint has it, row-major. */
export interface StoredTensor {
  shape: number[];
  /** float32 numbers, or the bits of bfloat16: the upper half of float32's. */
  data: Float32Array | Uint16Array;
}

export type StoredWeights = Record<string, StoredTensor>;

/** Takes whole rows of a tensor, one part after another; the array is its reader's. */
export type TakeRows = (rows: Float32Array | Uint16Array) => void;

/**
 * Offers an array of this length and type to read a tensor into, or takes its rows as they are read; undefined if
 * it does neither.
 */
export type AllocateTensor = (
  name: string,
  count: number,
  isBfloat16: boolean,
) => Float32Array | Uint16Array | TakeRows | undefined;

/** Takes rows into an array. */
export function rowsInto(array: Float32Array | Uint16Array): TakeRows {
  let at = 0;
  return (rows) => {
    array.set(rows, at);
    at += rows.length;
  };
}

/** Reads a model's tensors: into the room that there is, to have them in memory once; returns the others. */
export type ReadWeights = (room?: AllocateTensor) => StoredWeights;

export function isBfloat16({ data }: StoredTensor): boolean {
  return data instanceof Uint16Array;
}

const EXPONENT = 0x7f80;

/** Whether every number is finite. Loops, because `every` takes ten times as long for millions. */
export function areFinite(data: Float32Array | Uint16Array): boolean {
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
    Object.entries(weights).map(([name, tensor]) => [
      name,
      { shape: tensor.shape, data: widened(tensor) },
    ]),
  );
}

/** A tensor's numbers in float32, without rounding. */
export function widened({ data }: StoredTensor): Float32Array {
  return data instanceof Float32Array ? data : fromBfloat16(data);
}

export function fromBfloat16(halves: Uint16Array): Float32Array<ArrayBuffer> {
  const bits = new Uint32Array(halves.length);
  for (let i = 0; i < bits.length; i++) bits[i] = halves[i]! << 16;
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
