import { expect, test } from "vitest";
import type * as quantizing from "../../../../engines/embedded/kernels/quantized.ts";
import { dequantize, quantize } from "../../../../engines/modelFiles/blocks/blockType.ts";
import { BLOCK_TYPES } from "../../../../engines/modelFiles/numberTypes.ts";
import { builtModule } from "../built.ts";
import { module } from "./arena.ts";
import { type Call, type Team, bytesOf, numbers, team, THREADS } from "./team.ts";

const { createQuantizedWriter, quantizedBytes } =
  await builtModule<typeof quantizing>("kernels/quantized.js");
const { wide: _, ...ordinary } = module;

/** Rows of x, and W [out, in]: on the edges of tiles, groups, blocks and claims. */
const SIZES = [1, 7, 50].flatMap((rows) =>
  [1, 5, 8, 9, 16, 17, 23, 64, 65].flatMap((out) =>
    [32, 96, 160].map((width) => ({ rows, out, width })),
  ),
);
const DEEP = [
  { rows: 13, out: 1301, width: 64 },
  { rows: 13, out: 40, width: 1312 },
];

/** Both products of a matrix in q8_0, and those of the float32 numbers that it stands for. */
function place(t: Team, { rows, out, width }: (typeof SIZES)[number], seed: number) {
  const w = numbers(out * width, seed);
  const matrix = {
    type: "q8_0",
    at: t.bytes(quantizedBytes("q8_0", out, width)),
    out,
    in: width,
  } as const;
  const staging = { at: t.bytes(width * 4), bytes: width * 4 };
  createQuantizedWriter(t.kernels, t.memory, matrix, staging)(w);
  const plain = t.floats(dequantize(BLOCK_TYPES.q8_0, quantize(BLOCK_TYPES.q8_0, w)));
  const [x, dy] = [t.floats(numbers(rows * width, 2)), t.floats(numbers(rows * out, 3))];
  const [y, dx] = [
    t.floats(new Float32Array(rows * out)),
    t.floats(new Float32Array(rows * width)),
  ];
  const calls = (isQuantized: boolean): Call[] => [
    ["setA", x.at, width, 1],
    isQuantized ? ["setQuantizedB", matrix.at, width, 0] : ["setB", plain.at, 1, width, 0],
    ["setC", y.at, out, 0, 1],
    ["product", rows, out, width, 12, 16],
    ["setA", dy.at, out, 1],
    isQuantized ? ["setQuantizedB", matrix.at, width, 1] : ["setB", plain.at, width, 1, 0],
    ["setC", dx.at, width, 0, 1],
    ["product", rows, width, out, 12, 16],
    ["barrier"],
  ];
  return function run(threads: number, isQuantized: boolean): string[] {
    for (const { view } of [y, dx]) view.fill(NaN);
    t.run(threads, calls(isQuantized));
    return [y, dx].map(({ view }) => bytesOf(view));
  };
}

test.each([
  ["with the tile that this Node has", module],
  ["with the ordinary tile", ordinary],
])(
  "products with q8_0 weights are, to the bit, those with the numbers that they stand for, on any threads, %s",
  (_, kernels) => {
    for (const [i, sizes] of [SIZES, DEEP].entries()) {
      const t = team(kernels);
      for (const size of sizes) {
        const run = place(t, size, i + 1);
        const expected = run(1, false);
        for (const threads of THREADS) {
          expect(run(threads, true), `${JSON.stringify(size)} on ${threads}`).toEqual(expected);
        }
      }
      expect(t.broken()).toBe(0);
    }
  },
);
