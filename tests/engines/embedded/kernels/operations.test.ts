import { describe, expect, test } from "vitest";
import type * as kernelTypes from "../../../../engines/embedded/kernels/kernels.ts";
import { builtModule } from "../built.ts";
import { type Case, AWKWARD, check, get, loop, sumOf } from "./cases.ts";
import { difference, numbers, team, THREADS } from "./team.ts";

const { SUM_SHARE } = await builtModule<typeof kernelTypes>("kernels/kernels.js");

const EPSILON = 1e-5;
/** Around the numbers of a share, and of more shares than two. */
const MANY = [4095, 4096, 4097, 9000];

function norm(rows: number, width: number): Case {
  return {
    name: `RMSNorm and its way back, ${rows} × ${width}`,
    inputs: {
      x: numbers(rows * width, 1),
      w: numbers(width, 2),
      dy: numbers(rows * width, 3),
      added: numbers(rows * width, 4),
    },
    outputs: {
      y: rows * width,
      sum: rows * width,
      centered: width,
      inverse: rows,
      dx: rows * width,
      dw: width,
      more: width,
    },
    call: ({ x = 0, w = 0, dy = 0, added = 0, y = 0, inverse = 0, dx = 0, dw = 0, ...of }) => {
      const { more = 0, sum = 0, centered = 0 } = of;
      return [
        ["norm", rows, width, x, w, y, inverse, EPSILON, 0],
        ["norm", rows, width, x, w, sum, inverse, EPSILON, added],
        ["addOne", width, w, centered],
        ["barrier"],
        ["normBack", rows, width, x, w, inverse, dy, dx, added],
        ["normWeightBack", rows, width, x, inverse, dy, dw, 0],
        ["normWeightBack", rows, width, x, inverse, dy, more, w],
      ];
    },
    expected({ x, w, dy, added }) {
      const inverse = loop(
        rows,
        (r) =>
          1 / Math.sqrt(sumOf(loop(width, (i) => get(x, r * width + i) ** 2)) / width + EPSILON),
      );
      const each = (make: (o: number, i: number, r: number) => number) =>
        loop(rows * width, (o) => make(o, o % width, Math.floor(o / width)));
      const mean = loop(
        rows,
        (r) =>
          sumOf(loop(width, (i) => get(dy, r * width + i) * get(w, i) * get(x, r * width + i))) /
          width,
      );
      const dw = loop(width, (i) =>
        sumOf(loop(rows, (r) => get(dy, r * width + i) * get(x, r * width + i) * get(inverse, r))),
      );
      return {
        y: each((o, i, r) => get(x, o) * get(inverse, r) * get(w, i)),
        sum: each((o, i, r) => get(added, o) + get(x, o) * get(inverse, r) * get(w, i)),
        centered: loop(width, (i) => 1 + get(w, i)),
        inverse,
        dx: each(
          (o, i, r) =>
            get(added, o) +
            get(inverse, r) *
              (get(dy, o) * get(w, i) - get(x, o) * get(mean, r) * get(inverse, r) ** 2),
        ),
        dw,
        more: loop(width, (i) => get(dw, i) + get(w, i)),
      };
    },
  };
}

function headNorm(rows: number, size: number): Case {
  const heads = 3;
  const [row, xRow] = [heads * size + 5, heads * size + 2];
  const at = (r: number, h: number, i: number, width: number) => r * width + h * size + i;
  const within = (y: ArrayLike<number>, make: (r: number, h: number, i: number) => number) =>
    loop(rows * row, (o) => {
      const [r, i] = [Math.floor(o / row), o % row];
      return i < heads * size ? make(r, Math.floor(i / size), i % size) : get(y, o);
    });
  return {
    name: `RMSNorm of heads and its way back, ${rows} rows, heads of ${size}`,
    inputs: {
      x: numbers(rows * xRow, 1),
      w: numbers(size, 2),
      y: numbers(rows * row, 3),
      dy: numbers(rows * row, 4),
    },
    outputs: { inverse: rows * heads, dw: size, more: size },
    call: ({ x = 0, w = 0, y = 0, dy = 0, inverse = 0, dw = 0, more = 0 }) => [
      ["headNorm", rows, heads, size, x, xRow, w, y, row, inverse, EPSILON],
      ["barrier"],
      ["headNormWeightBack", rows, heads, size, x, xRow, inverse, dy, row, dw, 0],
      ["headNormWeightBack", rows, heads, size, x, xRow, inverse, dy, row, more, w],
      ["barrier"],
      ["headNormBack", rows, heads, size, x, xRow, w, inverse, dy, row],
    ],
    expected({ x, w, y = [], dy = [] }) {
      const one = (r: number, h: number) => loop(size, (i) => get(x, at(r, h, i, xRow)));
      const scale = (r: number, h: number) =>
        1 / Math.sqrt(sumOf(one(r, h).map((v) => v * v)) / size + EPSILON);
      const each = <T>(make: (r: number, h: number) => T) =>
        loop(rows * heads, (o) => make(Math.floor(o / heads), o % heads));
      const gradient = (r: number, h: number, i: number) => get(dy, at(r, h, i, row));
      const dw = loop(size, (i) =>
        sumOf(each((r, h) => gradient(r, h, i) * get(x, at(r, h, i, xRow)) * scale(r, h))),
      );
      return {
        inverse: each(scale),
        y: within(y, (r, h, i) => get(x, at(r, h, i, xRow)) * scale(r, h) * get(w, i)),
        dw,
        more: dw.map((value, i) => value + get(w, i)),
        dy: within(dy, (r, h, i) => {
          const mean = sumOf(one(r, h).map((v, j) => v * get(w, j) * gradient(r, h, j))) / size;
          const own = gradient(r, h, i) * get(w, i);
          return scale(r, h) * (own - get(x, at(r, h, i, xRow)) * mean * scale(r, h) ** 2);
        }),
      };
    },
  };
}

function bias(rows: number, width: number): Case {
  const row = width + 3;
  const column = (y: Float64Array | undefined, i: number) =>
    sumOf(loop(rows, (r) => get(y, r * row + i)));
  return {
    name: `a bias and its way back, ${rows} × ${width}`,
    inputs: { b: numbers(width, 1), y: numbers(rows * row, 2), dy: numbers(rows * row, 3) },
    outputs: { db: width, more: width },
    call: ({ b = 0, y = 0, dy = 0, db = 0, more = 0 }) => [
      ["addBias", rows, width, b, y, row],
      ["biasBack", rows, width, dy, row, db, 0],
      ["biasBack", rows, width, dy, row, more, b],
    ],
    expected: ({ b, y, dy }) => ({
      y: loop(rows * row, (o) => get(y, o) + (o % row < width ? get(b, o % row) : 0)),
      db: loop(width, (i) => column(dy, i)),
      more: loop(width, (i) => column(dy, i) + get(b, i)),
    }),
  };
}

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));

/** The sigmoid's argument and its derivative. */
const ARGUMENTS = {
  swiglu: (x: number) => [x, 1] as const,
  geglu(x: number) {
    const slope = 2 * Math.sqrt(2 / Math.PI);
    return [slope * (x + 0.044715 * x ** 3), slope * (1 + 3 * 0.044715 * x * x)] as const;
  },
};

function gated(kind: keyof typeof ARGUMENTS, rows: number, hidden: number): Case {
  const gate = (r: number, i: number) => 2 * r * hidden + i;
  const each = (make: (g: number, u: number, o: number) => number) =>
    loop(rows * hidden, (o) => {
      const g = gate(Math.floor(o / hidden), o % hidden);
      return make(g, g + hidden, o);
    });
  return {
    name: `${kind} and its way back, ${rows} × ${hidden}`,
    inputs: { x: numbers(2 * rows * hidden, 1).map((v) => 6 * v), dy: numbers(rows * hidden, 2) },
    outputs: { y: rows * hidden, dx: 2 * rows * hidden },
    call: ({ x = 0, dy = 0, y = 0, dx = 0 }) => [
      [kind, rows, hidden, x, y],
      [`${kind}Back`, rows, hidden, x, dy, dx],
    ],
    expected({ x, dy }) {
      const dx = new Float64Array(2 * rows * hidden);
      const y = each((g, u, o) => {
        const [a, b, d] = [get(x, g), get(x, u), get(dy, o)];
        const [argument, slope] = ARGUMENTS[kind](a);
        const s = sigmoid(argument);
        dx[g] = d * b * (s + a * slope * s * (1 - s));
        dx[u] = d * a * s;
        return a * s * b;
      });
      return { y, dx };
    },
  };
}

function crossEntropy(rows: number, vocabulary: number): Case {
  // The rows of logits lie farther apart than they are long.
  const row = vocabulary + 3;
  const targets = Int32Array.from({ length: rows }, (_, r) => (r * 7) % vocabulary);
  return {
    name: `cross-entropy, ${rows} × ${vocabulary}`,
    inputs: {
      z: numbers(rows * row, 1).map((v) => 9 * v),
      targets,
      weights: numbers(rows, 2).map(Math.abs),
    },
    outputs: { losses: rows },
    call: ({ z = 0, targets = 0, weights = 0, losses = 0 }) => [
      ["crossEntropy", rows, vocabulary, row, z, targets, weights, losses],
    ],
    expected({ z, weights }) {
      const total = loop(rows, (r) =>
        sumOf(loop(vocabulary, (i) => Math.exp(get(z, r * row + i)))),
      );
      return {
        losses: loop(
          rows,
          (r) => get(weights, r) * (Math.log(get(total, r)) - get(z, r * row + get(targets, r))),
        ),
        z: loop(rows * row, (o) => {
          const [r, i] = [Math.floor(o / row), o % row];
          if (i >= vocabulary) return get(z, o);
          const hot = i === targets[r] ? 1 : 0;
          return get(weights, r) * (Math.exp(get(z, o)) / get(total, r) - hot);
        }),
      };
    },
  };
}

function embedding(rows: number, width: number): Case {
  const vocabulary = 9;
  const ids = Int32Array.from({ length: rows }, (_, r) => (r * 5) % vocabulary);
  return {
    name: `the embedding and its way back, ${rows} × ${width}`,
    inputs: {
      ids,
      table: numbers(vocabulary * width, 1),
      dy: numbers(rows * width, 2),
      dTable: numbers(vocabulary * width, 3),
    },
    outputs: { y: rows * width, copy: rows * width },
    call: ({ ids = 0, table = 0, dy = 0, dTable = 0, y = 0, copy = 0 }) => [
      ["embed", rows, width, ids, table, 0, y],
      ["embedBack", rows, width, ids, dy, dTable],
      ["copyRows", rows, width, dy, width, copy, width],
    ],
    expected({ table, dy, dTable }) {
      const gradient = Float64Array.from(dTable ?? []);
      const y = loop(rows * width, (o) => {
        const at = get(ids, Math.floor(o / width)) * width + (o % width);
        gradient[at] = get(gradient, at) + get(dy, o);
        return get(table, at);
      });
      return { y, dTable: gradient, copy: dy ?? [] };
    },
  };
}

function clear(count: number): Case {
  return {
    name: `zeros, ${count}`,
    inputs: { x: numbers(count + 1, 1) },
    outputs: {},
    call: ({ x = 0 }) => [["clear", count, x]],
    expected: ({ x }) => ({ x: loop(count + 1, (i) => (i < count ? 0 : get(x, i))) }),
  };
}

function scale(count: number): Case {
  return {
    name: `a factor, ${count}`,
    inputs: { x: numbers(count + 1, 1) },
    outputs: {},
    call: ({ x = 0 }) => [["scale", count, x, 2.5]],
    expected: ({ x }) => ({ x: loop(count + 1, (i) => get(x, i) * (i < count ? 2.5 : 1)) }),
  };
}

function rope(rows: number, headDim: number, start: number): Case {
  const heads = 3;
  const [half, row, length] = [headDim / 2, heads * headDim + 2, 5];
  const positions = Int32Array.from({ length: rows }, (_, r) => start + (r % length));
  const angles = numbers((start + length) * half, 1).map((v) => 3 * v);
  const turned = (x: Float64Array | undefined, sign: number) =>
    loop(rows * row, (o) => {
      const [r, i] = [Math.floor(o / row), o % row];
      if (i >= heads * headDim) return get(x, o);
      const angle = get(angles, get(positions, r) * half + ((i % headDim) % half));
      const partner = i % headDim < half ? -get(x, o + half) : get(x, o - half);
      return get(x, o) * Math.cos(angle) + partner * sign * Math.sin(angle);
    });
  return {
    name: `the rotation and its backward pass from ${start} on, ${rows} rows, heads of ${headDim}`,
    inputs: {
      x: numbers(rows * row, 2),
      back: numbers(rows * row, 3),
      positions,
      cosines: angles.map(Math.cos),
      sines: angles.map(Math.sin),
    },
    outputs: {},
    call: ({ x = 0, back = 0, positions = 0, cosines = 0, sines = 0 }) => [
      ["rotate", rows, heads, headDim, x, row, positions, cosines, sines, 1],
      ["rotate", rows, heads, headDim, back, row, positions, cosines, sines, -1],
    ],
    expected: ({ x, back }) => ({ x: turned(x, 1), back: turned(back, -1) }),
  };
}

function adamw(count: number): Case {
  const [scale, rate, decay, beta1, beta2, bias1, bias2, epsilon] = [
    0.5, 0.01, 0.1, 0.9, 0.95, 0.19, 0.0975, 1e-8,
  ];
  return {
    name: `AdamW, ${count}`,
    inputs: {
      w: numbers(count, 1),
      g: numbers(count, 2),
      m: numbers(count, 3),
      v: numbers(count, 4).map(Math.abs),
    },
    outputs: {},
    call: ({ w = 0, g = 0, m = 0, v = 0 }) => [
      ["setAdamw", scale, rate, decay, beta1, beta2, bias1, bias2, epsilon],
      ["adamw", count, w, g, m, v],
    ],
    expected({ w, g, m, v }) {
      const mean = loop(count, (i) => beta1 * get(m, i) + (1 - beta1) * scale * get(g, i));
      const square = loop(count, (i) => beta2 * get(v, i) + (1 - beta2) * (scale * get(g, i)) ** 2);
      return {
        m: mean,
        v: square,
        w: loop(
          count,
          (i) =>
            get(w, i) -
            rate *
              (get(mean, i) / bias1 / (Math.sqrt(get(square, i) / bias2) + epsilon) +
                decay * get(w, i)),
        ),
      };
    },
  };
}

const CASES = [
  ...AWKWARD.flatMap((rows) => AWKWARD.map((width) => [rows, width] as const)).flatMap(
    ([rows, width]) => [
      norm(rows, width),
      gated("swiglu", rows, width),
      gated("geglu", rows, width),
      crossEntropy(rows, width),
      embedding(rows, width),
      bias(rows, width),
    ],
  ),
  ...AWKWARD.flatMap((rows) =>
    [2, 6, 8, 10, 64].flatMap((size) => [
      rope(rows, size, 0),
      rope(rows, size, 7),
      headNorm(rows, size),
    ]),
  ),
  ...[...AWKWARD, ...MANY].map(adamw),
  ...[...AWKWARD, 16383, 16384, 16385, 40000].map(clear),
  ...[...AWKWARD, ...MANY].map(scale),
];

describe("on 1, 2, 3 and 5 threads, to the bit, at awkward sizes", () => {
  test("each operation and its way back is that of a plain loop in float64", () => check(CASES));
  test("sums of squares are those of a plain loop, in float64", () => {
    const t = team();
    for (const count of [...AWKWARD, ...MANY]) {
      const x = t.floats(numbers(count, 1));
      const parts = Math.ceil(count / SUM_SHARE);
      const partials = new Float64Array(t.memory.buffer, t.bytes(parts * 8), parts);
      const wanted = loop(parts, (part) =>
        sumOf(Array.from(x.view.subarray(part * SUM_SHARE, (part + 1) * SUM_SHARE), (v) => v * v)),
      );
      const results = THREADS.map((threads) => {
        partials.fill(NaN);
        t.run(threads, [["sumOfSquares", count, x.at, partials.byteOffset], ["barrier"]]);
        return [...partials];
      });
      expect(difference(results[0] ?? [], wanted), `${count}`).toBeLessThan(1e-9);
      for (const result of results) expect(result, `${count}`).toEqual(results[0]);
    }
    expect(t.broken()).toBe(0);
  });
});

test("a position that does not count has no loss and no gradient, even where its loss has no end", () => {
  const t = team();
  // A target so far below the highest logit that float32 has no number for the difference.
  const logits = t.floats(Float32Array.of(3e38, -3e38, 0, 1, 2, 3));
  const targets = t.floats(new Float32Array(2));
  new Int32Array(t.memory.buffer, targets.at, 2).set([1, 1]);
  const weights = t.floats(Float32Array.of(0, 1));
  const losses = t.floats(new Float32Array(2));
  t.run(1, [["crossEntropy", 2, 3, 3, logits.at, targets.at, weights.at, losses.at]]);
  expect([...losses.view]).toEqual([0, expect.closeTo(1.4076, 4)]);
  expect([...logits.view.subarray(0, 3)].map(Math.abs)).toEqual([0, 0, 0]);
  expect(t.broken()).toBe(0);
});
