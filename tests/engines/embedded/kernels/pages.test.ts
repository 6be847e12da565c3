import { expect, test } from "vitest";
import { type Call, type Team, THREADS, bytesOf, difference, numbers, team } from "./team.ts";

const PAGE = 16;
const ALL = 2 ** 30;

interface Sizes {
  heads: number;
  kvHeads: number;
  headDim: number;
  /** Of the products of queries and keys. Default: as most models have it. */
  scale?: number;
  /** Positions that a query sees at most. Default: all. */
  window?: number;
  /** Of each sequence: positions that were read before, and new ones. */
  sequences: readonly (readonly [before: number, count: number])[];
}

function ints(t: Team, values: readonly number[]): number {
  const { at } = t.floats(new Float32Array(values.length));
  new Int32Array(t.memory.buffer, at, values.length).set(values);
  return at;
}

/** Runs all sequences' positions, those before and then the new ones; answers what attention made of the new ones. */
function attended(sizes: Sizes, threads: number, alone?: number) {
  const { heads, kvHeads, headDim, scale = 1 / Math.sqrt(headDim), window = ALL } = sizes;
  const { sequences } = sizes;
  const t = team();
  const row = (heads + 2 * kvHeads) * headDim + 3;
  const lengths = sequences.map(([before, count]) => before + count);
  const tableRow = Math.max(...lengths.map((length) => Math.ceil(length / PAGE))) + 1;
  // Pages lie about in no order.
  const pages = sequences.length * tableRow;
  const table = Array.from({ length: pages }, (_, i) => (i * 7 + 3) % pages);
  expect(new Set(table).size).toBe(pages);
  const kv = pages * PAGE * kvHeads * headDim;
  const [keys, values] = [1, 2].map(() => t.floats(new Float32Array(kv).fill(NaN)).at);
  const tableAt = ints(t, table);
  const scores = t.floats(new Float32Array(tableRow * PAGE * 5)).at;
  const outs: number[][] = [];
  for (const part of ["before", "new"] as const) {
    const tokens = sequences.flatMap(([before, count], owner) => {
      const [from, to] = part === "before" ? [0, before] : [before, before + count];
      if (alone !== undefined && owner !== alone) return [];
      return Array.from({ length: to - from }, (_, i) => ({ owner, position: from + i }));
    });
    if (tokens.length === 0) continue;
    const positions = ints(
      t,
      tokens.map(({ position }) => position),
    );
    const owners = ints(
      t,
      tokens.map(({ owner }) => owner),
    );
    const qkv = t.floats(Float32Array.from(tokens.flatMap((token) => [...lineOf(row, token)]))).at;
    const out = t.floats(new Float32Array(tokens.length * heads * headDim));
    const places = [positions, owners, tableAt, tableRow, keys ?? 0, values ?? 0];
    const k = qkv + heads * headDim * 4;
    t.run(threads, [
      ["storeKeys", tokens.length, kvHeads, headDim, k, row, ...places],
      ["barrier"],
      [
        ...["attendPages", tokens.length, heads, kvHeads, headDim, scale, window],
        ...[qkv, row, ...places, scores, out.at],
      ],
    ] as Call[]);
    outs.push([...out.view]);
  }
  expect(t.broken()).toBe(0);
  return Float32Array.from(outs.at(-1) ?? []);
}

/** Queries, keys and values of a token. */
function lineOf(row: number, { owner, position }: { owner: number; position: number }) {
  return numbers(row, 1 + owner * 1000 + position);
}

/** The same in float64. */
function plain({ heads, kvHeads, headDim, sequences, ...scores }: Sizes): Float64Array {
  const { scale = 1 / Math.sqrt(headDim), window = ALL } = scores;
  const row = (heads + 2 * kvHeads) * headDim + 3;
  return Float64Array.from(
    sequences.flatMap(([before, count], owner) =>
      Array.from({ length: count }, (_, i) => before + i).flatMap((last) => {
        const lines = Array.from({ length: last + 1 }, (_, position) =>
          lineOf(row, { owner, position }),
        );
        return Array.from({ length: heads }, (_, head) => {
          const key = (heads + Math.floor(head / (heads / kvHeads))) * headDim;
          const product = (line: Float32Array, position: number) => {
            if (last - position >= window) return 0;
            let sum = 0;
            for (let d = 0; d < headDim; d++)
              sum += lines[last]![head * headDim + d]! * line[key + d]!;
            return Math.exp(sum * scale);
          };
          const shares = lines.map(product);
          const total = shares.reduce((sum, share) => sum + share);
          return Array.from({ length: headDim }, (_, d) =>
            lines.reduce(
              (sum, line, j) => sum + (shares[j]! / total) * line[key + kvHeads * headDim + d]!,
              0,
            ),
          );
        }).flat();
      }),
    ),
  );
}

const CASES: Sizes[] = [
  ...[1, 2, 6, 10, 32, 64, 70].map((headDim) => ({
    heads: 4,
    kvHeads: 2,
    headDim,
    sequences: [
      [0, 1],
      [5, 1],
      [15, 3],
      [16, 1],
      [33, 17],
    ] as const,
  })),
  {
    heads: 3,
    kvHeads: 1,
    headDim: 8,
    sequences: [
      [0, 40],
      [15, 1],
    ],
  },
  {
    heads: 2,
    kvHeads: 1,
    headDim: 32,
    sequences: [
      [300, 1],
      [0, 5],
    ],
  },
  { heads: 2, kvHeads: 2, headDim: 4, sequences: [[1, 1]] },
  ...[1, 15, 16, 17, 40].map((window) => ({
    heads: 4,
    kvHeads: 2,
    headDim: 10,
    scale: 0.3,
    window,
    sequences: [
      [0, 60],
      [47, 2],
      [40, 9],
    ] as const,
  })),
];

test.each(CASES)(
  "attention to keys and values in pages is that of plain loops, the same on any threads: %j",
  (sizes) => {
    const [single, ...others] = THREADS.map((threads) => attended(sizes, threads));
    expect(difference(single ?? [], plain(sizes))).toBeLessThan(1e-4);
    for (const other of others) expect(bytesOf(other)).toBe(bytesOf(single!));
  },
);

test.each(CASES)("a sequence's attention is the same alone and among others: %j", (sizes) => {
  const all = attended(sizes, 2);
  const outRow = sizes.heads * sizes.headDim;
  let from = 0;
  for (const [owner, [, count]] of sizes.sequences.entries()) {
    const own = all.subarray(from * outRow, (from + count) * outRow);
    expect(bytesOf(attended(sizes, 1, owner)), `sequence ${owner}`).toBe(bytesOf(own));
    from += count;
  }
});
