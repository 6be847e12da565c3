import { describe, test } from "vitest";
import { type Case, AWKWARD, check, get, loop, sumOf } from "./cases.ts";
import { numbers } from "./team.ts";

function attention(
  batch: number,
  length: number,
  heads: number,
  kvHeads: number,
  size: number,
): Case {
  const row = (heads + 2 * kvHeads) * size;
  const n = batch * length;
  const at = (b: number, t: number, h: number, i: number) => (b * length + t) * row + h * size + i;
  const scale = 1 / Math.sqrt(size);
  /** Softmax of a head's scores, [query][key]. */
  const sharesOf = (qkv: Float64Array | undefined, b: number, h: number) => {
    const k = heads + Math.floor(h / (heads / kvHeads));
    return loop(length, (t) => {
      const e = loop(t + 1, (s) =>
        Math.exp(
          scale * sumOf(loop(size, (i) => get(qkv, at(b, t, h, i)) * get(qkv, at(b, s, k, i)))),
        ),
      );
      const total = sumOf(e);
      return e.map((value) => value / total);
    });
  };
  return {
    name: `attention and its way back, ${batch} × ${length}, ${heads}/${kvHeads} heads of ${size}`,
    inputs: { qkv: numbers(n * row, 1).map((v) => 2 * v), dOut: numbers(n * heads * size, 2) },
    outputs: {
      shares: batch * heads * length * length,
      out: n * heads * size,
      dqkv: n * row,
      scratch: 5 * length * length,
    },
    call: ({ qkv = 0, dOut = 0, shares = 0, out = 0, dqkv = 0, scratch = 0 }) => [
      ["attend", batch, length, heads, kvHeads, size, row, qkv, shares, out],
      ["meet"],
      ["attendBack", batch, length, heads, kvHeads, size, row, qkv, shares, dOut, dqkv, scratch],
    ],
    expected({ qkv, dOut }) {
      const out = new Float64Array(n * heads * size);
      const dqkv = new Float64Array(n * row);
      const add = (i: number, value: number) => (dqkv[i] = get(dqkv, i) + value);
      for (let b = 0; b < batch; b++) {
        for (let h = 0; h < heads; h++) {
          const k = heads + Math.floor(h / (heads / kvHeads));
          const shares = sharesOf(qkv, b, h);
          shares.forEach((p, t) => {
            const o = ((b * length + t) * heads + h) * size;
            const dp = p.map((_, s) =>
              sumOf(loop(size, (i) => get(dOut, o + i) * get(qkv, at(b, s, k + kvHeads, i)))),
            );
            const mean = sumOf(p.map((share, s) => share * get(dp, s)));
            p.forEach((share, s) => {
              const ds = share * (get(dp, s) - mean) * scale;
              for (let i = 0; i < size; i++) {
                out[o + i] = get(out, o + i) + share * get(qkv, at(b, s, k + kvHeads, i));
                add(at(b, s, k + kvHeads, i), share * get(dOut, o + i));
                add(at(b, t, h, i), ds * get(qkv, at(b, s, k, i)));
                add(at(b, s, k, i), ds * get(qkv, at(b, t, h, i)));
              }
            });
          });
        }
      }
      return { out, dqkv };
    },
  };
}

const ATTENTION = [
  ...AWKWARD.map((length) => attention(2, length, 4, 4, 8)),
  attention(3, 13, 6, 2, 10),
  attention(1, 130, 2, 1, 24),
];

/** Attention of `count` new positions from `start` on, to keys and values that are kept. */
function cached(count: number, start: number, heads: number, kvHeads: number, size: number): Case {
  const [row, kvRow] = [heads * size + 3, kvHeads * size];
  const seen = start + count;
  const context = seen + 2;
  const scale = 1 / Math.sqrt(size);
  return {
    name: `attention of ${count} positions after ${start}, ${heads}/${kvHeads} heads of ${size}`,
    inputs: {
      q: numbers(count * row, 1).map((v) => 2 * v),
      keys: numbers(context * kvRow, 2).map((v) => 2 * v),
      values: numbers(context * kvRow, 3),
    },
    outputs: { scores: count * heads * context, out: count * heads * size },
    call: ({ q = 0, keys = 0, values = 0, scores = 0, out = 0 }) => [
      [
        ...(["attendCached", count, start, heads, kvHeads, size, row, context] as const),
        ...[q, keys, values, scores, out],
      ],
    ],
    expected({ q, keys, values }) {
      const one = (o: number) => {
        const [i, head] = [Math.floor(o / heads), o % heads];
        const shared = Math.floor(head / (heads / kvHeads)) * size;
        const e = loop(start + i + 1, (j) => {
          const product = (k: number) =>
            get(q, i * row + head * size + k) * get(keys, j * kvRow + shared + k);
          return Math.exp(scale * sumOf(loop(size, product)));
        });
        const total = sumOf(e);
        return loop(size, (k) =>
          sumOf(e.map((share, j) => (share / total) * get(values, j * kvRow + shared + k))),
        );
      };
      return { out: loop(count * heads, one).flat() };
    },
  };
}

const CACHED = [
  ...AWKWARD.flatMap((count) => [0, 1, 4, 63].map((start) => cached(count, start, 4, 2, 6))),
  ...[2, 8, 10, 64].map((size) => cached(5, 13, 6, 3, size)),
  cached(1, 700, 2, 1, 4),
];

describe("on 1, 2, 3 and 5 threads, to the bit, at awkward sizes", () => {
  test("attention and its way back, also with shared keys, is that of plain loops", () =>
    check(ATTENTION));
  test("attention over more positions than a block of a product is deep is that of plain loops", () =>
    check([attention(1, 645, 1, 1, 2)]));
  test("attention of new positions to kept keys and values is that of plain loops", () =>
    check(CACHED));
});
