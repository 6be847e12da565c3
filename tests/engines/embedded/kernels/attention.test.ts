import { describe, test } from "vitest";
import { type Case, AWKWARD, check, get, loop, sumOf } from "./cases.ts";
import { numbers } from "./team.ts";

/** Sequences of these lengths, one after another. */
function attention(
  lengths: number[],
  heads: number,
  kvHeads: number,
  headDim: number,
  { scale = 1 / Math.sqrt(headDim), window = 2 ** 30 } = {},
): Case {
  const row = (heads + 2 * kvHeads) * headDim;
  const before = (counts: number[]) => counts.map((_, i) => sumOf(counts.slice(0, i)));
  const probsRow = (length: number) => Math.ceil(length / 4) * 4;
  const squares = lengths.map((length) => length * probsRow(length));
  const offsets = before([...lengths, 0]);
  const n = sumOf(lengths);
  const longest = Math.max(...lengths);
  const at = (position: number, h: number, i: number) => position * row + h * headDim + i;
  /** Softmax of a head's scores, [query][key]. */
  const probsOf = (qkv: Float64Array | undefined, first: number, length: number, h: number) => {
    const k = heads + Math.floor(h / (heads / kvHeads));
    const score = (t: number, s: number) =>
      sumOf(loop(headDim, (i) => get(qkv, at(first + t, h, i)) * get(qkv, at(first + s, k, i))));
    return loop(length, (t) => {
      const e = loop(t + 1, (s) => (t - s < window ? Math.exp(scale * score(t, s)) : 0));
      const total = sumOf(e);
      return e.map((value) => value / total);
    });
  };
  return {
    name: `attention and its backward pass, ${lengths.join()}, ${heads}/${kvHeads} heads of ${headDim}, a window of ${window}`,
    inputs: {
      qkv: numbers(n * row, 1).map((v) => 2 * v),
      dOut: numbers(n * heads * headDim, 2),
      offsets: Int32Array.from(offsets),
      squares: Int32Array.from(before(squares)),
    },
    outputs: {
      probs: heads * sumOf(squares),
      out: n * heads * headDim,
      dqkv: n * row,
      scratch: 5 * longest * probsRow(longest),
    },
    call: ({ qkv = 0, dOut = 0, offsets = 0, squares = 0, ...of }) => {
      const { probs = 0, out = 0, dqkv = 0, scratch = 0 } = of;
      const count = lengths.length;
      const sizes = [count, heads, kvHeads, headDim, row, scale, window, offsets, squares] as const;
      return [
        ["attend", ...sizes, qkv, probs, out],
        ["barrier"],
        ["attendBack", ...sizes, qkv, probs, dOut, dqkv, scratch],
      ];
    },
    expected({ qkv, dOut }) {
      const out = new Float64Array(n * heads * headDim);
      const dqkv = new Float64Array(n * row);
      const add = (i: number, value: number) => (dqkv[i] = get(dqkv, i) + value);
      lengths.forEach((length, sequence) => {
        const first = get(offsets, sequence);
        for (let h = 0; h < heads; h++) {
          const k = heads + Math.floor(h / (heads / kvHeads));
          const v = k + kvHeads;
          probsOf(qkv, first, length, h).forEach((p, t) => {
            const o = ((first + t) * heads + h) * headDim;
            const dp = p.map((_, s) =>
              sumOf(loop(headDim, (i) => get(dOut, o + i) * get(qkv, at(first + s, v, i)))),
            );
            const mean = sumOf(p.map((prob, s) => prob * get(dp, s)));
            p.forEach((prob, s) => {
              const ds = prob * (get(dp, s) - mean) * scale;
              for (let i = 0; i < headDim; i++) {
                out[o + i] = get(out, o + i) + prob * get(qkv, at(first + s, v, i));
                add(at(first + s, v, i), prob * get(dOut, o + i));
                add(at(first + t, h, i), ds * get(qkv, at(first + s, k, i)));
                add(at(first + s, k, i), ds * get(qkv, at(first + t, h, i)));
              }
            });
          });
        }
      });
      return { out, dqkv };
    },
  };
}

const ATTENTION = [
  ...AWKWARD.map((length) => attention([length, length], 4, 4, 8)),
  attention([13, 1, 7, 30, 2], 6, 2, 10),
  attention([130], 2, 1, 24),
  attention([3, 70], 2, 2, 6),
  ...[1, 2, 5, 16, 33].map((window) => attention([13, 1, 70], 4, 2, 6, { scale: 0.7, window })),
];

describe("on 1, 2, 3 and 5 threads, to the bit, at awkward sizes", () => {
  test("attention and its backward pass, also with shared keys and within a window, is that of plain loops", () =>
    check(ATTENTION));
  test("attention over more positions than a block of a product is deep is that of plain loops", () =>
    check([attention([645], 1, 1, 2)]));
});
