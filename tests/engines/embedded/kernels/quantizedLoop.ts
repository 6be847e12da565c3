import { dequantize, quantize } from "../../../../engines/modelFiles/blocks/blockType.ts";
import { type BlockTypeName, BLOCK_TYPES } from "../../../../engines/modelFiles/numberTypes.ts";

const LEAST_NORMAL = 2 ** -126;

/** A product of x [rows, width] and W [out, width]. */
export interface Shape {
  type: BlockTypeName;
  rows: number;
  out: number;
  width: number;
}

interface Layout {
  /** Numbers that share a scale. */
  part: number;
  /** The greatest number that x becomes. */
  most: number;
  /** Where a block has its scales and, of q4_K, its scale of minimums. */
  scales: number[];
  /** What makes every number 1, byte by byte from a place on, and every part's scale 1 without a minimum. */
  ones: [at: number, byte: number, count: number][];
  units: [at: number, byte: number, count: number][];
}

const LAYOUTS: Record<BlockTypeName, Layout> = {
  q8_0: { part: 32, most: 8191, scales: [0], ones: [[2, 1, 32]], units: [] },
  q4_0: { part: 32, most: 127, scales: [0], ones: [[2, 0x99, 16]], units: [] },
  q5_0: {
    part: 32,
    most: 8191,
    scales: [0],
    ones: [
      [2, 0xff, 4],
      [6, 0x11, 16],
    ],
    units: [],
  },
  q4_k: {
    part: 32,
    most: 127,
    scales: [0, 2],
    ones: [[16, 0x11, 128]],
    units: [
      [4, 1, 4],
      [8, 0, 4],
      [12, 1, 4],
    ],
  },
  q6_k: {
    part: 16,
    most: 8191,
    scales: [208],
    ones: [
      [0, 0x11, 128],
      [128, 0xaa, 64],
    ],
    units: [[192, 1, 16]],
  },
};

/** The parts of a row of weights: their numbers, as integers, their scales and minimums. */
function partsOf(type: BlockTypeName, weights: Float32Array) {
  const { block, bytes } = BLOCK_TYPES[type];
  const { part, scales, ones, units } = LAYOUTS[type];
  const blocks = quantize(BLOCK_TYPES[type], weights);
  /** With other bytes, and scales of these bits in place of the first that a block has. */
  function changed(changes: Layout["ones"], halves: (number | undefined)[]): Float32Array {
    const copy = blocks.slice();
    const view = new DataView(copy.buffer);
    for (let from = 0; from < copy.length; from += bytes) {
      for (const [at, byte, count] of changes) copy.fill(byte, from + at, from + at + count);
      for (const [i, at] of scales.entries()) {
        if (halves[i] !== undefined) view.setUint16(from + at, halves[i], true);
      }
    }
    return dequantize(BLOCK_TYPES[type], copy);
  }
  const [steps, numbers] = [changed(ones, [undefined, 0]), changed(units, [0x3c00, 0])];
  const minimums = changed([[16, 0, 128]].slice(0, scales.length - 1) as Layout["ones"], []);
  return Array.from({ length: (weights.length / block) * (block / part) }, (_, p) => ({
    scale: steps[p * part]!,
    minimum: scales.length > 1 ? minimums[p * part]! : 0,
    numbers: numbers.subarray(p * part, (p + 1) * part),
  }));
}

/** Numbers of x in integers of `most` at most, and their scale. */
function inputOf(most: number, x: Float32Array) {
  const greatest = x.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const scale = Math.fround(greatest / most);
  const inverse = scale >= LEAST_NORMAL ? Math.fround(1 / scale) : 0;
  return { scale, numbers: x.map((value) => toEven(Math.fround(value * inverse))) };
}

function toEven(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  return below + (rest > 0.5 || (rest === 0.5 && below % 2 !== 0) ? 1 : 0);
}

/** x·Wᵀ in a plain loop: integers in a part, float32 from part to part. */
export function plain(
  { type, rows, out, width }: Shape,
  w: Float32Array,
  x: Float32Array,
): Float32Array {
  const y = new Float32Array(rows * out);
  const { part, most } = LAYOUTS[type];
  const weights = Array.from({ length: out }, (_, j) =>
    partsOf(type, w.subarray(j * width, (j + 1) * width)),
  );
  for (let r = 0; r < rows; r++) {
    const inputs = Array.from({ length: width / part }, (_, p) =>
      inputOf(most, x.subarray(r * width + p * part, r * width + (p + 1) * part)),
    );
    for (let j = 0; j < out; j++) {
      let total = 0;
      for (const [p, input] of inputs.entries()) {
        const { scale, minimum, numbers } = weights[j]![p]!;
        const sum = Math.fround(input.numbers.reduce((all, value) => all + value, 0) * input.scale);
        if (type === "q4_k") total = Math.fround(total + Math.fround(minimum * sum));
        const product = input.numbers.reduce((all, value, k) => all + value * numbers[k]!, 0);
        const scales = Math.fround(scale * input.scale);
        total = Math.fround(total + Math.fround(Math.fround(product) * scales));
      }
      y[r * out + j] = total;
    }
  }
  return y;
}
