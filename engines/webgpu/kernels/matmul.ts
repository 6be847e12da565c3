import { THREADS, kernel } from "../device/kernel.ts";
import { type StoredType, decoder, wordOf } from "./stored.ts";

/** Rows and columns of the result that a workgroup computes. */
export type Tile = readonly [rows: number, columns: number];

export interface MatmulVariant {
  tile: Tile;
  /** Whether adjacent elements of A are a row's, otherwise a column's. */
  isAByRow: boolean;
  /** Whether adjacent elements of B are a column's, as of a transposed matrix [n, k]. */
  isBByColumn: boolean;
  type: StoredType;
  /** Whether four adjacent elements can be read, and written, at once. */
  isAligned: boolean;
}

/** What a product is added to: nothing, the result's previous numbers, or those of the array `added`. */
export const ADDS = { nothing: 0, itself: 1, added: 2 } as const;

/** Depth of the tiles of A and B in a workgroup's memory. */
const DEPTH = 16;

/**
 * `M` and `K`: 0 for the batch's rows, from `first`, at most `limit`; `kind` is their count's index in `batch`.
 * `splits`: workgroups that share K.
 */
const PARAMS = {
  ...({ M: "u32", N: "u32", kind: "u32", first: "u32", limit: "u32", splits: "u32" } as const),
  ...({ cFrom: "u32", cRow: "u32", adds: "u32", alpha: "f32" } as const),
} as const;

const BATCH_ROWS = `
/** Rows of the batch that this product takes. */
fn batchRows() -> u32 { return min(p.limit, max(batch[p.kind], p.first) - p.first); }
`;

/**
 * C [M, N] = added + alpha · A·B. Each thread multiplies 4 × 4 or 8 × 8 in registers, while its next elements of A and B
 * are on their way. One of M and K may be the batch's rows. Workgroups along z split K, and write sums of their own.
 */
export function matmul({ tile, isAByRow, isBByColumn, type, isAligned }: MatmulVariant) {
  const [rows, columns] = tile;
  /** Vectors of four rows, and of four columns, of a thread. */
  const fours = rows === columns ? 2 : 1;
  /** Threads along a tile's rows, and along its columns. */
  const [down, across] = [rows / 4 / fours, columns / 4 / fours];
  const threads = down * across;
  const element = isAligned ? "vec4f" : "f32";
  const a = operand(A, { width: rows, threads, isByDepth: isAByRow, isAligned });
  const b = operand(B, { width: columns, threads, isByDepth: isBByColumn, isAligned });
  const sums = Array.from({ length: 4 * fours }, (_, y) =>
    Array.from({ length: fours }, (_, x) => ({ name: `sum${y}${x}`, y, x })),
  ).flat();
  return kernel(["matmul", ...tile, isAByRow, isBByColumn, type, isAligned].join(" "), {
    params: {
      ...PARAMS,
      ...({ K: "u32", aFrom: "u32", aRow: "u32", aColumn: "u32" } as const),
      ...({ wFrom: "u32", wRow: "u32", wColumn: "u32", scales: "u32" } as const),
    },
    reads: { a: element, w: wordOf(type, isAligned), added: element },
    writes: { c: element },
    code: `${BATCH_ROWS}
fn decodeA(at: u32) -> ${isAligned ? "vec4f { return a[at / 4u]; }" : "f32 { return a[at]; }"}
${decoder(type, { name: "decodeB", isAligned })}
${a.functions}
${b.functions}

@compute @workgroup_size(${threads}) fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(local_invocation_index) i: u32,
) {
  let M = select(p.M, batchRows(), p.M == 0u);
  let N = p.N;
  let depth = select(p.K, batchRows(), p.K == 0u);
  let share = (depth / p.splits + ${DEPTH}u) / ${DEPTH}u * ${DEPTH}u;
  let begin = group.z * share;
  let K = min(depth, begin + share);
  let m0 = group.y * ${rows}u;
  let n0 = group.x * ${columns}u;
  let row = i / ${across}u;
  let column = i % ${across}u;
${sums.map(({ name }) => `  var ${name} = vec4f(0.0);`).join("\n")}
${a.start("i", "m0")}
${b.start(`(${threads - 1}u - i)`, "n0")}
  for (var k0 = begin; ; k0 += ${DEPTH}u) {
${a.read("k0", "M")}
${b.read("k0", "N")}
    if (k0 > begin) {
      for (var k = 0u; k < ${DEPTH}u; k++) {
${lines(fours, (y) => `        let left${y} = tileA[k][${y * down}u + row];`)}
${lines(fours, (x) => `        let right${x} = tileB[k][${x * across}u + column];`)}
${sums.map(({ name, y, x }) => `        ${name} = fma(vec4f(left${y >> 2}[${y % 4}]), right${x}, ${name});`).join("\n")}
      }
    }
    if (k0 >= K) { break; }
    workgroupBarrier();
${a.store}
${b.store}
    workgroupBarrier();
  }
  var sums = array<vec4f, ${sums.length}>(${sums.map(({ name }) => name).join(", ")});
  for (var j = 0u; j < ${sums.length}u; j++) {
    let y = j / ${fours}u;
    let m = m0 + y / 4u * ${4 * down}u + row * 4u + y % 4u;
    write(m, n0 + j % ${fours}u * ${4 * across}u + column * 4u, sums[j], M, group.z);
  }
}

fn write(m: u32, n: u32, sums: vec4f, M: u32, split: u32) {
  if (m >= M || n >= p.N) { return; }
  let start = p.cFrom + (split * M + m) * p.cRow + n;
${
  isAligned
    ? writeOne("start / 4u", "sums", "vec4f(0.0)")
    : `  for (var j = 0u; j < min(4u, p.N - n); j++) {
${writeOne("start + j", "sums[j]", "0.0")}
  }`
}
}`,
  });
}

function lines(count: number, line: (i: number) => string): string {
  return Array.from({ length: count }, (_, i) => line(i)).join("\n");
}

/** WGSL of the first element's index, and of the strides between elements across, and along the depth. */
const A = { name: "A", from: "p.aFrom", acrossStride: "p.aRow", depthStride: "p.aColumn" };
const B = { name: "B", from: "p.wFrom", acrossStride: "p.wColumn", depthStride: "p.wRow" };

interface OperandTile {
  /** Rows of A, or columns of B. */
  width: number;
  /** Of a workgroup. */
  threads: number;
  /** Whether elements along the depth are adjacent. */
  isByDepth: boolean;
  isAligned: boolean;
}

/**
 * WGSL for A or B: threads read 4 × 4 elements each into `next`, 0 beyond the matrix, and store them in a tile as
 * vectors of four across.
 */
function operand(
  { name, from, acrossStride, depthStride }: typeof A,
  { width, threads, isByDepth, isAligned }: OperandTile,
) {
  const blocks = (width / 4) * (DEPTH / 4);
  const guarded = (body: string) =>
    blocks < threads ? `    if (block${name} < ${blocks}u) {\n${body}\n    }` : body;
  const type = isAligned ? "vec4f" : "f32";
  const next = (j: number) => `next${name}${j}`;
  const [acrossOf, depthOf] = isByDepth ? ["j", "c"] : ["c", "j"];
  // Adjacent threads read adjacent memory.
  const [depth, across] = isByDepth
    ? [`block${name} % ${DEPTH / 4}u`, `block${name} / ${DEPTH / 4}u`]
    : [`block${name} / ${width / 4}u`, `block${name} % ${width / 4}u`];
  return {
    functions: `
var<workgroup> tile${name}: array<array<vec4f, ${width / 4}>, ${DEPTH}>;

fn at${name}(across: u32, depth: u32, width: u32, K: u32) -> ${type} {
  if (across >= width || depth >= K) { return ${type}(0.0); }
  return decode${name}(${from} + across * ${acrossStride} + depth * ${depthStride});
}
${
  isAligned
    ? `fn read${name}(across: u32, depth: u32, j: u32, width: u32, K: u32) -> vec4f {
  return at${name}(${isByDepth ? "across + j, depth" : "across, depth + j"}, width, K);
}`
    : `fn read${name}(across: u32, depth: u32, j: u32, width: u32, K: u32) -> vec4f {
  var four: vec4f;
  for (var c = 0u; c < 4u; c++) { four[c] = at${name}(across + ${acrossOf}, depth + ${depthOf}, width, K); }
  return four;
}`
}`,
    /** @param index of a thread among those that read it @param first the tile's first row or column */
    start: (index: string, first: string) => `  let block${name} = ${index};
  let across${name} = ${across};
  let depth${name} = ${depth};
  let from${name} = ${first} + across${name} * 4u;
${lines(4, (j) => `  var ${next(j)}: vec4f;`)}`,
    /** @param from the depth @param size rows of A or columns of B */
    read: (from: string, size: string) =>
      guarded(
        lines(
          4,
          (j) =>
            `    ${next(j)} = read${name}(from${name}, ${from} + depth${name} * 4u, ${j}u, ${size}, K);`,
        ),
      ),
    store: guarded(
      lines(4, (j) => {
        const transposed = [0, 1, 2, 3].map((c) => `${next(c)}[${j}]`).join(", ");
        const value = isByDepth ? `vec4f(${transposed})` : next(j);
        return `    tile${name}[depth${name} * 4u + ${j}u][across${name}] = ${value};`;
      }),
    ),
  };
}

function writeOne(at: string, sum: string, zero: string): string {
  return `    let to = ${at};
    var before = ${zero};
    if (p.adds == ${ADDS.itself}u) { before = c[to]; }
    if (p.adds == ${ADDS.added}u) { before = added[to]; }
    c[to] = before + p.alpha * ${sum};`;
}

/** C [M, N] = added + alpha · the sum of a product's splits. */
export const sumSplits = kernel("splits", {
  params: PARAMS,
  reads: { parts: "f32", added: "f32" },
  writes: { c: "f32" },
  code: `${BATCH_ROWS}
@compute @workgroup_size(${THREADS}) fn main(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) count: vec3u,
  @builtin(local_invocation_index) i: u32,
) {
  let M = select(p.M, batchRows(), p.M == 0u);
  let element = workgroupIndex(id, count) * ${THREADS}u + i;
  if (element >= M * p.N) { return; }
  var sum = 0.0;
  for (var split = 0u; split < p.splits; split++) { sum += parts[split * M * p.N + element]; }
${writeOne("p.cFrom + element / p.N * p.cRow + element % p.N", "sum", "0.0")}
}`,
});
