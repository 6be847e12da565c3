import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type * as operations from "../../../../engines/embedded/kernels/matmuls.ts";
import type * as widening from "../../../../engines/embedded/kernels/wide.ts";
import { builtModule } from "../built.ts";
import { arena, kernelsOn, module } from "./arena.ts";
import { type Call, type Team, bytesOf, difference, numbers, team, THREADS } from "./team.ts";

const { createMatmuls } = await builtModule<typeof operations>("kernels/matmuls.js");
const { compileWide } = await builtModule<typeof widening>("kernels/wide.js");

const ROOT = new URL("../../../../", import.meta.url);
const AWKWARD = [1, 3, 4, 5, 63, 64, 65];
const SHARES: [number, number] = [12, 16];

/** The three products of a linear map, by the strides of A and B. */
const KINDS = {
  A·Bᵀ: (m: number, n: number, k: number) => ({ a: [k, 1], b: [1, k], m, n, k }),
  A·B: (m: number, n: number, k: number) => ({ a: [k, 1], b: [n, 1], m, n, k }),
  Aᵀ·B: (m: number, n: number, k: number) => ({ a: [1, m], b: [n, 1], m, n, k }),
};
type Product = ReturnType<(typeof KINDS)["A·B"]>;

/** added + alpha · A·B in float64. */
function plain(
  { a, b, m, n, k }: Product,
  x: Float32Array,
  y: Float32Array,
  added?: Float32Array,
  alpha = 1,
): Float64Array {
  const [aRow = 0, aColumn = 0] = a;
  const [bRow = 0, bColumn = 0] = b;
  const c = new Float64Array(m * n);
  for (let i = 0; i < m; i++) {
    for (let j = 0; j < n; j++) {
      let sum = 0;
      for (let p = 0; p < k; p++) {
        sum += (x[i * aRow + p * aColumn] ?? NaN) * (y[p * bRow + j * bColumn] ?? NaN);
      }
      c[i * n + j] = (added?.[i * n + j] ?? 0) + alpha * sum;
    }
  }
  return c;
}

function calls(
  { a, b, m, n, k }: Product,
  at: { x: number; y: number; c: number; added?: number; alpha?: number; half?: number },
  shares = SHARES,
): Call[] {
  const [aRow = 0, aColumn = 0] = a;
  const [bRow = 0, bColumn = 0] = b;
  return [
    ["setA", at.x, aRow, aColumn],
    ["setB", at.y, bRow, bColumn, at.half ?? 0],
    ["setC", at.c, n, at.added ?? 0, at.alpha ?? 1],
    ["product", m, n, k, ...shares],
    ["barrier"],
  ];
}

test.each(Object.keys(KINDS) as (keyof typeof KINDS)[])(
  "%s is that of a plain loop at awkward sizes, and the same to the bit on any threads",
  (kind) => {
    const t = team();
    const most = Math.max(...AWKWARD) ** 2;
    const [x, y] = [t.floats(numbers(most, 1)), t.floats(numbers(most, 2))];
    const sizes = AWKWARD.flatMap((m) => AWKWARD.flatMap((n) => AWKWARD.map((k) => [m, n, k])));
    const cases = sizes.map(([m = 0, n = 0, k = 0]) => {
      const product = KINDS[kind](m, n, k);
      return { product, c: t.floats(new Float32Array(m * n)) };
    });
    const all = cases.flatMap(({ product, c }) => calls(product, { x: x.at, y: y.at, c: c.at }));
    t.run(1, all);
    for (const { product, c } of cases) {
      const expected = plain(product, x.view, y.view);
      expect(difference(c.view, expected), JSON.stringify(product)).toBeLessThan(2e-5);
    }
    const single = cases.map(({ c }) => bytesOf(c.view));
    for (const threads of THREADS.slice(1)) {
      for (const { c } of cases) c.view.fill(NaN);
      t.run(threads, all);
      expect(cases.map(({ c }) => bytesOf(c.view))).toEqual(single);
    }
    expect(t.broken()).toBe(0);
  },
);

/** A product of any shape with something added and a factor, in memory of its own. */
function fuzzCase(t: Team, seed: number) {
  const [pick = 0, a = 0, b = 0, c = 0, alpha = 0, down = 0, across = 0] = numbers(7, seed * 7 + 3);
  const size = (value: number, most: number) => 1 + Math.floor(Math.abs(value) * most);
  const kinds = Object.values(KINDS);
  // Now and then deeper, wider or with more rows than a block.
  const [m, n, k] = [
    size(a, seed % 4 === 1 ? 260 : 70),
    size(b, seed % 5 === 0 ? 560 : 60),
    size(c, seed % 3 ? 90 : 1400),
  ];
  const product = (kinds[Math.floor(Math.abs(pick) * 3)] ?? kinds[0] ?? KINDS["A·B"])(m, n, k);
  const x = t.floats(numbers(m * k, seed + 1));
  const y = t.floats(numbers(k * n, seed + 2));
  const added = t.floats(numbers(m * n, seed + 3));
  const c2 = t.floats(new Float32Array(m * n));
  const at = { x: x.at, y: y.at, c: c2.at, added: added.at, alpha };
  const shares: [number, number] = [12 * size(down, 16), 8 * size(across, 7)];
  return { product, x, y, added, c: c2, alpha, calls: calls(product, at, shares) };
}

test("products of forty random shapes, with what is added and a factor, are those of a plain loop", () => {
  const t = team();
  for (let seed = 0; seed < 40; seed++) {
    const { product, x, y, added, c, alpha, calls } = fuzzCase(t, seed);
    t.run(1 + (seed % 3), calls);
    const expected = plain(product, x.view, y.view, added.view, alpha);
    expect(difference(c.view, expected), JSON.stringify(product)).toBeLessThan(2e-4);
    expect(t.broken()).toBe(0);
  }
});

/** The results of random products, on kernels that have the wide tile or lack it. */
function fuzzed(kernels: typeof module): string[] {
  const t = team(kernels);
  return Array.from({ length: 20 }, (_, seed) => {
    const { c, calls } = fuzzCase(t, seed);
    t.run(2, calls);
    return bytesOf(c.view);
  });
}

// On Node 20 there is none; `walk.test.ts` runs this on the newest.
test("the tile on vectors of 256 bits is used where there is one, and changes no bit", () => {
  const { wide, ...ordinary } = module;
  expect(wide === undefined).toBe(compileWide() === undefined);
  expect(fuzzed(module)).toEqual(fuzzed(ordinary));
});

test("the module of the wide tile has no data, which would lie where the kernels have theirs", () => {
  expect(sections("plain.wasm")).toContain(DATA_SECTION);
  expect(sections("wide.wasm")).not.toContain(DATA_SECTION);
});

const DATA_SECTION = 11;

/** The numbers of a built module's sections. */
function sections(name: string): number[] {
  const bytes = readFileSync(new URL(`dist/engines/embedded/kernels/${name}`, ROOT));
  const found: number[] = [];
  for (let at = 8; at < bytes.length;) {
    found.push(bytes[at++] ?? 0);
    let size = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++] ?? 0;
      size |= (byte & 127) << shift;
      if (byte < 128) break;
    }
    at += size;
  }
  return found;
}

test("a depth of several blocks is added up block by block, however the threads take turns", () => {
  const t = team();
  const product = KINDS["Aᵀ·B"](36, 48, 1400);
  const [x, y] = [t.floats(numbers(36 * 1400, 1)), t.floats(numbers(48 * 1400, 2))];
  const c = t.floats(new Float32Array(36 * 48));
  const once = calls(product, { x: x.at, y: y.at, c: c.at });
  t.run(1, once);
  expect(difference(c.view, plain(product, x.view, y.view))).toBeLessThan(2e-4);
  const single = bytesOf(c.view);
  for (let run = 0; run < 60; run++) {
    t.run(5, once);
    expect(bytesOf(c.view), `run ${run}`).toBe(single);
  }
});

test("products whose B is bfloat16, which is widened and not rounded, are those of a plain loop", () => {
  const t = team();
  const [m, n, k] = [[1, 7, 64], AWKWARD, [...AWKWARD, 37, 700]];
  const sizes = m.flatMap((m) => n.flatMap((n) => k.map((k) => [m, n, k] as const)));
  const x = t.floats(numbers(64 * 700, 1));
  const y = halves(t, numbers(65 * 700, 2));
  const c = t.floats(new Float32Array(64 * 65));
  for (const [i, size] of sizes.entries()) {
    for (const product of [KINDS["A·Bᵀ"](...size), KINDS["A·B"](...size)]) {
      const results = [1, THREADS[1 + (i % 3)] ?? 2].map((threads) => {
        c.view.fill(NaN);
        t.run(threads, calls(product, { x: x.at, y: y.at, c: c.at, half: 1 }));
        return c.view.slice(0, product.m * product.n);
      });
      const [single = c.view, many = c.view] = results;
      const expected = plain(product, x.view, y.view);
      expect(difference(single, expected), JSON.stringify(product)).toBeLessThan(5e-5);
      expect(bytesOf(many), JSON.stringify(product)).toBe(bytesOf(single));
    }
  }
  expect(t.broken()).toBe(0);
});

test("a weight's gradient with more rows than a thread can pack at once is that of a plain loop", () => {
  const memory = arena();
  const kernels = kernelsOn(memory);
  const { weightBack } = createMatmuls({
    kernels,
    memory: memory.memory,
    threadIndex: 0,
    count: () => 1,
  });
  for (const [out, inner, rows] of [
    [300, 140, 640],
    [230, 110, 1290],
  ] as const) {
    const [dy, x] = [
      memory.floats(numbers(rows * out, 1)),
      memory.floats(numbers(rows * inner, 2)),
    ];
    const dw = memory.floats(new Float32Array(out * inner));
    weightBack(
      rows,
      { at: dy.at, row: out },
      { at: x.at, row: inner },
      { at: dw.at, out, in: inner },
    );
    kernels.barrier();
    const expected = plain(KINDS["Aᵀ·B"](out, inner, rows), dy.view, x.view);
    expect(difference(dw.view, expected)).toBeLessThan(2e-4);
    expect(memory.broken()).toBe(0);
  }
});

/** Numbers cut to bfloat16, as they are in memory and as they count. */
function halves(t: ReturnType<typeof team>, wide: Float32Array) {
  const { at } = t.floats(new Float32Array(Math.ceil(wide.length / 2)));
  const words = new Uint32Array(wide.buffer, wide.byteOffset, wide.length);
  new Uint16Array(t.memory.buffer, at, wide.length).set(words.map((word) => word >>> 16));
  return { at, view: new Float32Array(words.map((word) => word & 0xffff0000).buffer) };
}
