import type { Operation } from "./operation.ts";

/** Rows of 1, 3, 63, 65 and 257, of one sequence or several. */
const [ONE, THREE, FEW, SOME, MANY] = [[1], [2, 1], [33, 1, 29], [65], [200, 57]];

const PLAIN = { type: "default", theta: 100 } as const;

function norm(lengths: number[], width: number, more: Partial<Operation> = {}): Operation {
  const isAdded = more.widths?.length === 2;
  return {
    name: `norm ${lengths.join()} × ${width} ${Object.keys(more).join()}`,
    lengths,
    widths: [width],
    tensors: { w: [width] },
    build: (layers, x, residual) => layers.norm(x, "w", isAdded ? residual : undefined),
    ...more,
  };
}

function headNorm(lengths: number[], heads: number, kvHeads: number, headDim: number): Operation {
  return {
    name: `norm of heads ${lengths.join()}, ${heads}/${kvHeads} heads of ${headDim}`,
    lengths,
    widths: [(heads + 2 * kvHeads) * headDim],
    tensors: { q: [headDim], k: [headDim] },
    build: (layers, x) => layers.headNorm(x, { heads, kvHeads, headDim }, { q: "q", k: "k" }),
  };
}

/** Adjacent linear layers, of which all but the second are adapted with `rank`. */
function linear(
  lengths: number[],
  inner: number,
  outs: number[],
  { rank = 0, ...more }: Partial<Operation> & { rank?: number } = {},
): Operation {
  const isAdded = more.widths?.length === 2;
  const linears = outs.map((out, i) => ({
    ...{ name: `l${i}`, out, target: i === 1 ? "u" : "t", hasBias: i !== 1 },
  }));
  return {
    name: `linear ${lengths.join()} × ${inner} → ${outs.join()} ${JSON.stringify(more)} rank ${rank}`,
    lengths,
    widths: [inner],
    tensors: Object.fromEntries([
      ...linears.map(({ name, out }) => [`${name}.weight`, [out, inner]]),
      ...linears.flatMap(({ name, out, hasBias }) => (hasBias ? [[`${name}.bias`, [out]]] : [])),
      ...linears.flatMap(({ name, out, target }) =>
        rank && target === "t"
          ? [
              [`${name}.lora_A.weight`, [rank, inner]],
              [`${name}.lora_B.weight`, [out, rank]],
            ]
          : [],
      ),
    ]) as Record<string, number[]>,
    build: (layers, x, residual) => layers.linear(x, linears, isAdded ? residual : undefined),
    ...more,
  };
}

function rope(lengths: number[], heads: number, kvHeads: number, headDim: number): Operation {
  return {
    name: `rope ${lengths.join()}, ${heads}/${kvHeads} heads of ${headDim}`,
    lengths,
    widths: [(heads + 2 * kvHeads) * headDim],
    build: (layers, x) => layers.rope(x, { heads, kvHeads, headDim }, PLAIN),
  };
}

function attention(
  lengths: number[],
  heads: number,
  kvHeads: number,
  headDim: number,
  window?: number,
): Operation {
  return {
    name: `attention ${lengths.join()}, ${heads}/${kvHeads} heads of ${headDim}, window ${window}`,
    lengths,
    widths: [(heads + 2 * kvHeads) * headDim],
    magnitude: 3,
    build: (layers, x) =>
      layers.attention(x, { heads, kvHeads, headDim }, { queryScalar: headDim, window }),
  };
}

function gated(kind: "swiglu" | "geglu", lengths: number[], width: number): Operation {
  return {
    name: `${kind} ${lengths.join()} × ${width}`,
    lengths,
    widths: [2 * width],
    magnitude: 60,
    build: (layers, x) => layers[kind](x),
  };
}

function select(lengths: number[], width: number): Operation {
  return {
    name: `select ${lengths.join()} × ${width}`,
    lengths,
    widths: [width],
    build: (layers, x) => layers.select(x),
  };
}

function embedding(
  lengths: number[],
  vocabulary: number,
  width: number,
  more: Partial<Operation> = {},
): Operation {
  return {
    name: `embedding ${lengths.join()} of ${vocabulary} × ${width} ${JSON.stringify(more)}`,
    ...{ lengths, vocabulary, tensors: { w: [vocabulary, width] } },
    build: (layers) => layers.embedding("w", vocabulary, width, 0.5),
    ...more,
  };
}

function head(
  lengths: number[],
  width: number,
  vocabulary: number,
  more: Partial<Operation> = {},
): Operation {
  return {
    name: `head ${lengths.join()} × ${width} → ${vocabulary} ${JSON.stringify(more)}`,
    ...{ lengths, vocabulary, widths: [width], tensors: { w: [vocabulary, width] }, magnitude: 3 },
    build: (layers, x) => layers.head(layers.select(x), "w", vocabulary),
    ...more,
  };
}

/** Every operation at sizes of less than a tile, of more than one, and around them. */
export const OPERATIONS: readonly Operation[] = [
  norm(ONE, 1),
  norm(FEW, 65),
  norm(MANY, 3, { isResidual: true }),
  norm(THREE, 257, { isCentered: true }),
  norm(SOME, 63, { widths: [63, 63] }),
  headNorm(THREE, 3, 1, 6),
  headNorm(SOME, 2, 2, 66),
  linear(ONE, 1, [1]),
  linear(THREE, 63, [65, 3, 1], { maxWords: 24 * 63 }),
  linear(MANY, 3, [63]),
  linear(FEW, 65, [257], { widths: [65, 257] }),
  linear(SOME, 257, [3]),
  linear(MANY, 3, [17, 1], { type: "f32", rank: 1 }),
  linear(FEW, 66, [129, 5], { type: "bf16", rank: 3, widths: [66, 134], maxWords: 40 * 33 }),
  linear(SOME, 96, [70, 65], { type: "q8_0", rank: 17, maxWords: 40 * 27 }),
  // Read in fours.
  linear(FEW, 68, [132, 8, 20], { type: "bf16", rank: 4, widths: [68, 160] }),
  linear(THREE, 64, [128, 4], { type: "q8_0", rank: 8 }),
  // Deep enough to be split.
  linear(SOME, 516, [8, 4], { type: "f32", rank: 4 }),
  linear(THREE, 513, [4]),
  linear(SOME, 516, [8], { widths: [516, 8] }),
  linear([520], 3, [5]),
  linear([520], 4, [8, 4, 12], { type: "f32", rank: 4 }),
  linear(THREE, 4, [516, 4, 520], { type: "f32", rank: 4 }),
  // In parts that begin between fours.
  linear([9], 12, [20], { maxWords: 72 }),
  rope(ONE, 1, 1, 2),
  rope(FEW, 3, 1, 66),
  attention(ONE, 1, 1, 1),
  attention(FEW, 4, 2, 20),
  attention([130], 2, 1, 34, 2),
  attention([31, 33, 1], 3, 1, 256, 32),
  attention(MANY, 1, 1, 2, 63),
  ...(["swiglu", "geglu"] as const).flatMap((kind) => [
    gated(kind, ONE, 1),
    gated(kind, SOME, 63),
    gated(kind, THREE, 257),
  ]),
  select(ONE, 3),
  select(FEW, 65),
  embedding(ONE, 1, 1),
  embedding(MANY, 65, 63, { maxWords: 24 * 63 }),
  embedding(THREE, 257, 257),
  embedding(FEW, 7, 34, { type: "bf16", maxWords: 2 * 17 }),
  embedding(SOME, 63, 32, { type: "q8_0" }),
  {
    ...embedding(FEW, 65, 3, { isTied: true }),
    build: (layers) => layers.head(layers.select(layers.embedding("w", 65, 3)), "w", 65),
  },
  head([3], 1, 1),
  head(SOME, 3, 257),
  head(FEW, 63, 65, { maxWords: 65 * 30 }),
  head(MANY, 2, 3, { type: "bf16" }),
  head(THREE, 32, 300, { type: "q8_0", maxWords: 101 * 9 }),
];
