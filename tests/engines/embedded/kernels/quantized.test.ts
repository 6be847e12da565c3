import { describe, expect, test } from "vitest";
import type * as quantizing from "../../../../engines/embedded/kernels/quantized.ts";
import { dequantize, quantize } from "../../../../engines/modelFiles/blocks/blockType.ts";
import {
  type BlockTypeName,
  BLOCK_TYPES,
  isBlockType,
} from "../../../../engines/modelFiles/numberTypes.ts";
import { builtModule } from "../built.ts";
import { module as compiled } from "./arena.ts";
import { type Shape, plain } from "./quantizedLoop.ts";
import { type Call, type Team, bytesOf, numbers, team, THREADS } from "./team.ts";

const { createQuantizedWriter, quantizedBytes, quantizedInputBytes } =
  await builtModule<typeof quantizing>("kernels/quantized.js");

const TYPES = Object.keys(BLOCK_TYPES).filter(isBlockType);
/** The blocks of some types; `awkward` and the sizes here are for these. */
const BLOCK = 32;

/** So many columns, or more that are whole blocks. */
const whole = (type: BlockTypeName, width: number) =>
  Math.ceil(width / BLOCK_TYPES[type].block) * BLOCK_TYPES[type].block;

const { wideSums, ...ordinary } = compiled;
/** The kernels as any Node has them, and in the ways that newer ones know. On Node 20 there is the first alone. */
const MODULES = Object.entries({
  "in plain SIMD": { ...ordinary, dots: false },
  ...(compiled.simd === "relaxed" && {
    "by relaxed dot products": { ...ordinary, dots: true },
  }),
  ...(wideSums && {
    "on vectors of 256 bits": { ...compiled, dots: false },
    "on vectors of 256 bits and by dot products": { ...compiled, dots: true },
  }),
});

interface Operands {
  w: Float32Array;
  x: Float32Array;
  added?: Float32Array | undefined;
}

/** Writes a matrix in parts that end within a group, through room for three rows. */
function write(t: Team, type: BlockTypeName, width: number, w: Float32Array | Uint16Array) {
  const out = w.length / width;
  const matrix = { type, at: t.bytes(quantizedBytes(type, out, width)), out, in: width };
  const staging = { at: t.bytes(3 * width * 4), bytes: 3 * width * 4 };
  const writer = createQuantizedWriter(t.kernels, t.memory, matrix, staging);
  const first = Math.min(out, 5) * width;
  writer(w.subarray(0, first));
  writer(w.subarray(first));
  return matrix;
}

/** Places a product, with rows of x and y that lie farther apart than they are wide. */
function place(t: Team, shape: Shape, { w, x, added }: Operands) {
  const { type, rows, out, width } = shape;
  const [xRow, yRow] = [width + 4, out + 3];
  const apart = (values: Float32Array, row: number, length: number) => {
    const array = t.floats(new Float32Array(rows * row).fill(0.5));
    for (let r = 0; r < rows; r++)
      array.view.set(values.subarray(r * length, (r + 1) * length), r * row);
    return array;
  };
  const matrix = write(t, type, width, w);
  const from = apart(x, xRow, width);
  const y = apart(added ?? new Float32Array(rows * out), yRow, out);
  const input = t.bytes(quantizedInputBytes(rows, width));
  const { id } = BLOCK_TYPES[type];
  const calls: Call[] = [
    ["quantizeInput", id, rows, width, from.at, xRow, input],
    ["barrier"],
    [
      ...(["quantizedProduct", id, rows, out, width, matrix.at, input, y.at, yRow] as const),
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
  return { name: JSON.stringify(shape), calls, y, expected, restore: () => y.view.set(before) };
}

/** Runs products on every count of threads: the same bits as a plain loop's, within their arrays. */
function check(t: Team, products: ReturnType<typeof place>[]) {
  const calls = products.flatMap((product) => product.calls);
  for (const threads of THREADS) {
    for (const { restore } of products) restore();
    t.run(threads, calls);
    for (const { y, expected, name } of products) {
      // Equal bytes first, because comparing lists takes long.
      if (bytesOf(y.view) !== bytesOf(expected))
        expect([...y.view], `${name} on ${threads} threads`).toEqual([...expected]);
    }
  }
  expect(t.broken()).toBe(0);
}

/** Numbers at which a kernel may go wrong, block by block. */
function awkward(count: number, seed: number): Float32Array {
  const sizes = [1, 0, 1e-3, 7e-6, 1e-7, 1e-30, 1e-42, 1e5];
  return numbers(count, seed).map((value, i) => {
    const block = Math.floor(i / BLOCK);
    // Now and then all of one size, the greatest sum that there is.
    const number = block % 5 === 4 ? Math.sign(value) || 1 : value;
    return (block % 7 === 6 ? 1 : number) * sizes[(block + seed) % sizes.length]!;
  });
}

describe.each(MODULES)("to the bit, on any threads, %s:", (_, module) => {
  test.each(TYPES)("a product of %s is that of a plain loop at awkward sizes", (type) => {
    const t = team(module);
    const shapes = [
      ...[1, 2, 3, 4, 5, 8, 15, 33].map((rows) => [rows, 19, 64]),
      ...[1, 3, 7, 8, 9, 31, 32, 33, 64, 65, 70, 130].map((out) => [5, out, 32]),
      ...[32, 96, 576, 1536].flatMap((width) => [
        [1, 41, width],
        [6, 9, width],
      ]),
    ];
    const products = shapes.map(([rows = 0, out = 0, columns = 0], i) => {
      const width = whole(type, columns);
      const added = i % 2 ? numbers(rows * out, 3) : undefined;
      const [w, x] = [numbers(out * width, 1), numbers(rows * width, 2)];
      return place(t, { type, rows, out, width }, { w, x, added });
    });
    check(t, products);
  });

  test.each(TYPES)("so are forty products of %s of any shape, of awkward numbers", (type) => {
    const t = team(module);
    const products = Array.from({ length: 40 }, (_, seed) => {
      const [a = 0, b = 0, c = 0] = numbers(3, seed * 5 + 1).map(Math.abs);
      const [rows, out] = [1 + Math.floor(a * 9), 1 + Math.floor(b * 90)];
      const width = whole(type, BLOCK * (1 + Math.floor(c * 9)));
      const added = seed % 3 ? numbers(rows * out, seed) : undefined;
      const [w, x] = [awkward(out * width, seed), awkward(rows * width, seed + 1)];
      return place(t, { type, rows, out, width }, { w, x, added });
    });
    check(t, products);
  });

  test.each(TYPES)("a row has the same product of %s alone as among others", (type) => {
    const t = team(module);
    const [rows, out, width] = [7, 45, whole(type, 160)];
    const [w, x] = [numbers(out * width, 1), numbers(rows * width, 2)];
    const all = place(t, { type, rows, out, width }, { w, x });
    t.run(2, all.calls);
    for (let r = 0; r < rows; r++) {
      const row = x.subarray(r * width, (r + 1) * width);
      const alone = place(t, { type, rows: 1, out, width }, { w, x: row });
      t.run(3, alone.calls);
      const among = all.y.view.subarray(r * (out + 3), (r + 1) * (out + 3));
      expect(bytesOf(among), `row ${r}`).toBe(bytesOf(alone.y.view));
    }
  });

  test.each(TYPES)("a number of x that is none makes its row's product of %s none", (type) => {
    const t = team(module);
    const width = whole(type, 64);
    const shape = { type, rows: 5, out: 9, width };
    for (const wrong of [NaN, Infinity]) {
      const x = numbers(5 * width, 2);
      x[2 * width + 40] = wrong;
      const { y, calls } = place(t, shape, { w: numbers(9 * width, 1), x });
      t.run(1, calls);
      const finite = Array.from({ length: 5 }, (_, r) =>
        y.view.subarray(r * 12, r * 12 + 9).every(Number.isFinite),
      );
      expect(finite).toEqual([true, true, false, true, true]);
    }
  });
});

test.each(TYPES)("rows of a quantized table of %s are GGUF's numbers, on any threads", (type) => {
  const t = team();
  const [vocabulary, width] = [43, whole(type, 96)];
  const w = awkward(vocabulary * width, 4);
  const ids = Array.from({ length: 40 }, (_, i) => (i * 29) % vocabulary);
  const place = t.floats(new Float32Array(ids.length));
  new Int32Array(t.memory.buffer, place.at, ids.length).set(ids);
  const table = write(t, type, width, w);
  const y = t.floats(new Float32Array(ids.length * width));
  const found = dequantize(BLOCK_TYPES[type], quantize(BLOCK_TYPES[type], w));
  const expected = ids.flatMap((id) => [...found.subarray(id * width, (id + 1) * width)]);
  for (const threads of THREADS) {
    y.view.fill(NaN);
    const { id } = BLOCK_TYPES[type];
    t.run(threads, [["embedQuantized", id, ids.length, width, place.at, table.at, y.at]]);
    // A scale of 0 has no sign that counts.
    expect([...y.view].map((value) => value + 0)).toEqual(expected.map((value) => value + 0));
  }
  expect(t.broken()).toBe(0);
});

test.each(TYPES)("bfloat16 is quantized to the same %s as float32", (type) => {
  const t = team();
  const width = whole(type, 64);
  const halves = Uint16Array.from(
    new Uint32Array(numbers(21 * width, 1).buffer),
    (bits) => bits >>> 16,
  );
  const wide = new Float32Array(Uint32Array.from(halves, (half) => half << 16).buffer);
  const [a, b] = [halves, wide].map((w) => write(t, type, width, w).at);
  const bytes = (at = 0) => Buffer.from(t.memory.buffer, at, quantizedBytes(type, 21, width));
  expect(bytes(a).equals(bytes(b))).toBe(true);
  expect(t.broken()).toBe(0);
});

test.each([1e8, NaN, Infinity])("a weight of %s is refused", (wrong) => {
  const t = team();
  const w = numbers(3 * 32, 1);
  w[70] = wrong;
  expect(() => write(t, "q8_0", 32, w)).toThrow("too large for q8_0, or not finite");
});

// V8 has joined vectors wrongly; then this Node would go without, and nothing else would tell.
test("wide sums are used where there is a wide tile", () => {
  expect(wideSums !== undefined).toBe(compiled.wide !== undefined);
});
