import { describe, expect, test } from "vitest";
import type * as quantizing from "../../../../engines/embedded/kernels/quantized.ts";
import {
  type QuantizedType,
  dequantize,
  quantize,
} from "../../../../engines/modelFiles/quantizedBlocks.ts";
import { builtModule } from "../built.ts";
import { module } from "./arena.ts";
import { type Call, type Team, bytesOf, numbers, team, THREADS } from "./team.ts";

const { createQuantizedWriter, quantizedBytes, quantizedInputBytes } =
  await builtModule<typeof quantizing>("kernels/quantized.js");

const TYPES: QuantizedType[] = ["q8_0", "q4_0"];
const BLOCK = 32;
/** The greatest number that x becomes. */
const MOST = { q8_0: 8191, q4_0: 127 };
const LEAST_NORMAL = 2 ** -126;

/** The kernels as this Node has them, and with relaxed dot products where it has relaxed SIMD. */
const MODULES = Object.entries({
  "without dot products": { ...module, dots: false },
  ...(module.simd === "relaxed" && { "with relaxed dot products": { ...module, dots: true } }),
});

interface Shape {
  type: QuantizedType;
  rows: number;
  out: number;
  width: number;
}

/** A weight's block: its numbers, as integers, and its scale. */
function blockOf(type: QuantizedType, weights: Float32Array) {
  const bytes = quantize(type, weights);
  // The scale of a block whose numbers are 1.
  const ones = bytes.slice();
  ones.fill(type === "q8_0" ? 1 : 0x99, 2);
  const [scale = NaN] = dequantize(type, ones);
  bytes.set([0, 0x3c]);
  return { scale, numbers: dequantize(type, bytes) };
}

/** Numbers of x in integers of `most` at most, and their scale. */
function inputOf(type: QuantizedType, x: Float32Array) {
  const greatest = x.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const scale = Math.fround(greatest / MOST[type]);
  const inverse = scale >= LEAST_NORMAL ? Math.fround(1 / scale) : 0;
  return { scale, numbers: x.map((value) => toEven(Math.fround(value * inverse))) };
}

function toEven(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  return below + (rest > 0.5 || (rest === 0.5 && below % 2 !== 0) ? 1 : 0);
}

/** x·Wᵀ: integers in a block, float32 from block to block. */
function plain({ type, rows, out, width }: Shape, w: Float32Array, x: Float32Array): Float32Array {
  const y = new Float32Array(rows * out);
  const cut = <T>(array: Float32Array, row: number, of: (part: Float32Array) => T) =>
    Array.from({ length: width / BLOCK }, (_, b) =>
      of(array.subarray(row * width + b * BLOCK, row * width + (b + 1) * BLOCK)),
    );
  const weights = Array.from({ length: out }, (_, j) => cut(w, j, (part) => blockOf(type, part)));
  for (let r = 0; r < rows; r++) {
    const input = cut(x, r, (part) => inputOf(type, part));
    for (let j = 0; j < out; j++) {
      let sum = 0;
      for (const [b, { scale, numbers }] of input.entries()) {
        const block = weights[j]![b]!;
        const product = numbers.reduce((total, value, k) => total + value * block.numbers[k]!, 0);
        const scales = Math.fround(block.scale * scale);
        sum = Math.fround(sum + Math.fround(Math.fround(product) * scales));
      }
      y[r * out + j] = sum;
    }
  }
  return y;
}

/** Places a product's arrays, with rows of x and y that lie farther apart than they are wide. */
function place(t: Team, shape: Shape, w: Float32Array, x: Float32Array, added?: Float32Array) {
  const { type, rows, out, width } = shape;
  const [xRow, yRow] = [width + 4, out + 3];
  const matrix = { type, at: t.bytes(quantizedBytes(type, out, width)), out, in: width };
  const staging = t.floats(new Float32Array(3 * width));
  const write = createQuantizedWriter(t.kernels, t.memory, matrix, { at: staging.at, bytes: 3 * width * 4 });
  // In parts that end within a group.
  const first = Math.min(out, 5);
  write(w.subarray(0, first * width));
  write(w.subarray(first * width));
  const apart = (values: Float32Array, row: number, length: number) => {
    const array = t.floats(new Float32Array(rows * row).fill(NaN));
    for (let r = 0; r < rows; r++) array.view.set(values.subarray(r * length, (r + 1) * length), r * row);
    return array;
  };
  const from = apart(x, xRow, width);
  const y = apart(added ?? new Float32Array(rows * out), yRow, out);
  const input = t.bytes(quantizedInputBytes(rows, width));
  const isQ4 = Number(type === "q4_0");
  const calls: Call[] = [
    ["quantizeInput", isQ4, rows, width, from.at, xRow, input],
    ["barrier"],
    [
      ...(["quantizedProduct", isQ4, rows, out, width, matrix.at, input, y.at, yRow] as const),
      ...[added ? y.at : 0, 1 + (out % 9)],
    ],
    ["barrier"],
  ];
  const before = y.view.slice();
  const expected = y.view.slice();
  plain(shape, w, x).forEach((value, i) => {
    const at = Math.floor(i / out) * yRow + (i % out);
    expected[at] = added ? value + expected[at]! : value;
  });
  return { calls, y, expected, restore: () => y.view.set(before), matrix };
}

function check(t: Team, cases: (ReturnType<typeof place> & { name: string })[], threads = THREADS) {
  const calls = cases.flatMap((one) => one.calls);
  for (const count of threads) {
    for (const { restore } of cases) restore();
    t.run(count, calls);
    for (const { y, expected, name } of cases) {
      // Compared as a whole first: a loop over all numbers would take long.
      if (bytesOf(y.view) !== bytesOf(expected)) expect([...y.view], name).toEqual([...expected]);
    }
  }
  expect(t.broken()).toBe(0);
}

describe.each(MODULES)("%s", (_, module) => {
  test.each(TYPES)("a product of %s is that of a plain loop to the bit, on any threads", (type) => {
    const t = team(module);
    const shapes = [
      ...[1, 2, 3, 4, 5, 8, 15, 33].map((rows) => [rows, 19, 64]),
      ...[1, 3, 7, 8, 9, 31, 32, 33, 64, 65, 70].map((out) => [5, out, 32]),
      ...[32, 96, 576, 1536].flatMap((width) => [[1, 41, width], [6, 9, width]]),
    ];
    const cases = shapes.map(([rows = 0, out = 0, width = 0], i) => {
      const shape = { type, rows, out, width };
      const added = i % 2 ? numbers(rows * out, 3) : undefined;
      const [w, x] = [numbers(out * width, 1), numbers(rows * width, 2)];
      return { ...place(t, shape, w, x, added), name: JSON.stringify(shape) };
    });
    check(t, cases);
  });
});
