import { type Element, type Kernel, kernel } from "../device/kernel.ts";
import { type StoredType, fourDecoder, wordsOf } from "./stored.ts";

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
  /** Whether the product is added to another array, otherwise to the result itself or, without `adds`, to 0. */
  addsOther: boolean;
}

const THREADS = 64;
/** Depth of the tiles of A and B in a workgroup's memory. */
export const DEPTH = 16;

/**
 * C [M, N] = added + alpha · A·B. Each thread multiplies 4 × 4 or 8 × 8 in registers, while its next elements of A and B
 * are on their way. One of M and K may be the batch's rows. Workgroups along z split K, and write sums of their own.
 */
export function matmul(variant: MatmulVariant): Kernel<(typeof SIZES)[number] | "alpha", string> {
  const { tile, isAByRow, isBByColumn, type, isAligned, addsOther } = variant;
  const [rows, columns] = tile;
  /** Rows and columns of a thread, in fours. */
  const [down, across] = rows === columns ? [2, 2] : [1, 1];
  /** Threads along a tile's columns, and along its rows. */
  const threads = [columns / 4 / across, rows / 4 / down] as const;
  const result = isAligned ? "vec4f" : "f32";
  const added: Record<string, Element> = addsOther ? { added: result } : {};
  const sums = Array.from({ length: 4 * down }, (_, y) =>
    Array.from({ length: across }, (_, x) => ({ sum: `sum${y}_${x}`, y, x })),
  ).flat();
  const read = (from: string) =>
    `    if (i < ${rows}u) { nextA = fetchA(m0 + a4, ${from} + aDepth, M, K); }
    if (i < ${columns}u) { nextB = fetchB(n0 + b4, ${from} + bDepth, p.N, K); }`;
  return kernel(["matmul", ...tile, isAByRow, isBByColumn, type, isAligned, addsOther].join(" "), {
    params: { ...(Object.fromEntries(SIZES.map((size) => [size, "u32"])) as Sizes), alpha: "f32" },
    reads: { a: result, w: isAligned ? wordsOf(type).four : wordsOf(type).one, ...added },
    writes: { c: result } as Record<string, Element>,
    code: `
var<workgroup> aTile: array<vec4f, ${(DEPTH * rows) / 4}>;
var<workgroup> bTile: array<vec4f, ${(DEPTH * columns) / 4}>;

/** Rows of the batch that this product takes. */
fn batchRows() -> u32 { return min(p.limit, max(batch[p.kind], p.first) - p.first); }

fn decodeA(at: u32) -> ${isAligned ? "vec4f { return a[at / 4u]; }" : "f32 { return a[at]; }"}
${fourDecoder(type, isAligned)}

${fetch("A", "p.aFrom", ["p.aRow", "p.aColumn"], isAByRow, isAligned)}
${fetch("B", "p.wFrom", ["p.wColumn", "p.wRow"], isBByColumn, isAligned)}

@compute @workgroup_size(${THREADS}) fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(local_invocation_index) i: u32,
) {
  let M = select(p.M, batchRows(), p.M == 0u);
  let depth = select(p.K, batchRows(), p.K == 0u);
  let share = (depth / p.splits + ${DEPTH}u) / ${DEPTH}u * ${DEPTH}u;
  let begin = group.z * share;
  let K = min(depth, begin + share);
  let m0 = group.y * ${rows}u;
  let n0 = group.x * ${columns}u;
  let row = i / ${threads[0]}u;
  let column = i % ${threads[0]}u;
${sums.map(({ sum }) => `  var ${sum} = vec4f(0.0);`).join("\n")}
  let ${block("a", rows, isAByRow)}
  let ${block("b", columns, isBByColumn)}
  var nextA: mat4x4f;
  var nextB: mat4x4f;
${read("begin")}
  for (var k0 = begin; k0 < K; k0 += ${DEPTH}u) {
    workgroupBarrier();
${store("aTile", "nextA", "a", rows, isAByRow)}
${store("bTile", "nextB", "b", columns, isBByColumn)}
    workgroupBarrier();
${read(`k0 + ${DEPTH}u`)}
    for (var k = 0u; k < ${DEPTH}u; k++) {
${range(down, (y) => `      let left${y} = aTile[k * ${rows / 4}u + ${y * threads[1]}u + row];`)}
${range(across, (x) => `      let right${x} = bTile[k * ${columns / 4}u + ${x * threads[0]}u + column];`)}
${sums.map(({ sum, y, x }) => `      ${sum} = fma(vec4f(left${y >> 2}[${y % 4}]), right${x}, ${sum});`).join("\n")}
    }
  }
  var sums = array<vec4f, ${sums.length}>(${sums.map(({ sum }) => sum).join(", ")});
  for (var j = 0u; j < ${sums.length}u; j++) {
    let y = j / ${across}u;
    let m = m0 + y / 4u * ${4 * threads[1]}u + row * 4u + y % 4u;
    write(m, n0 + j % ${across}u * ${4 * threads[0]}u + column * 4u, sums[j], M, group.z);
  }
}

fn write(m: u32, n: u32, sums: vec4f, M: u32, split: u32) {
  if (m >= M || n >= p.N) { return; }
  let start = p.cFrom + (split * M + m) * p.cRow + n;
${
  isAligned
    ? writeOne("start / 4u", "sums", "vec4f(0.0)", addsOther)
    : `  for (var j = 0u; j < min(4u, p.N - n); j++) {
${writeOne("start + j", "sums[j]", "0.0", addsOther)}
  }`
}
}`,
  });
}

/**
 * `M` and `K`: 0 for the batch's rows, from `first`, at most `limit`; `kind` is their count's place in `batch`.
 * `splits`: workgroups that share K.
 */
const SIZES = [
  "M",
  "N",
  "K",
  "kind",
  "first",
  "limit",
  "splits",
  "aFrom",
  "aRow",
  "aColumn",
  "wFrom",
  "wRow",
  "wColumn",
  "scales",
  "cFrom",
  "cRow",
  "adds",
] as const;

type Sizes = Record<(typeof SIZES)[number], "u32">;

function range(count: number, line: (i: number) => string): string {
  return Array.from({ length: count }, (_, i) => line(i)).join("\n");
}

/**
 * WGSL of a function that reads 4 × 4 elements, 0 beyond the matrix; each vector's are adjacent.
 * @param strides between elements across, and along the depth
 * @param isByDepth whether elements along the depth are adjacent
 */
function fetch(
  name: "A" | "B",
  from: string,
  [acrossStride, depthStride]: readonly [string, string],
  isByDepth: boolean,
  isAligned: boolean,
): string {
  const type = isAligned ? "vec4f" : "f32";
  const [across, depth] = isByDepth ? ["j", "c"] : ["c", "j"];
  const vectors = [0, 1, 2, 3].map((j) =>
    isByDepth
      ? `at${name}(across + ${j}u, depth, width, K)`
      : `at${name}(across, depth + ${j}u, width, K)`,
  );
  const body = isAligned
    ? `  return mat4x4f(${vectors.join(", ")});`
    : `  var four: mat4x4f;
  for (var j = 0u; j < 4u; j++) {
    for (var c = 0u; c < 4u; c++) { four[j][c] = at${name}(across + ${across}, depth + ${depth}, width, K); }
  }
  return four;`;
  return `
fn at${name}(across: u32, depth: u32, width: u32, K: u32) -> ${type} {
  if (across >= width || depth >= K) { return ${type}(0.0); }
  return decode${name}(${from} + across * ${acrossStride} + depth * ${depthStride});
}
fn fetch${name}(across: u32, depth: u32, width: u32, K: u32) -> mat4x4f {
${body}
}`;
}

/** WGSL: which 4 × 4 elements of a tile a thread reads, so that adjacent threads read adjacent memory. */
function block(name: "a" | "b", width: number, isByDepth: boolean): string {
  const [depth, four] = isByDepth
    ? [`i % ${DEPTH / 4}u * 4u`, `i / ${DEPTH / 4}u * 4u`]
    : [`i / ${width / 4}u * 4u`, `i % ${width / 4}u * 4u`];
  return `${name}Depth = ${depth};\n  let ${name}4 = ${four};`;
}

/** WGSL: stores what a thread read in a tile, as vectors of four elements across. */
function store(
  tile: string,
  read: string,
  name: "a" | "b",
  width: number,
  isByDepth: boolean,
): string {
  return `    if (i < ${width}u) {
      let fours = ${isByDepth ? `transpose(${read})` : read};
${range(4, (j) => `      ${tile}[(${name}Depth + ${j}u) * ${width / 4}u + ${name}4 / 4u] = fours[${j}];`)}
    }`;
}

function writeOne(at: string, sum: string, zero: string, addsOther: boolean): string {
  return `    let to = ${at};
    var before = ${zero};
    ${addsOther ? "before = added[to];" : "if (p.adds != 0u) { before = c[to]; }"}
    c[to] = before + p.alpha * ${sum};`;
}

/** C [M, N] = added + alpha · the sum of a product's splits. */
export const sumSplits = (addsOther: boolean) =>
  kernel(`splits ${addsOther}`, {
    params: {
      ...({ M: "u32", N: "u32", kind: "u32", first: "u32", limit: "u32", splits: "u32" } as const),
      ...({ cFrom: "u32", cRow: "u32", adds: "u32", alpha: "f32" } as const),
    },
    reads: { parts: "f32", ...(addsOther ? { added: "f32" } : {}) } as Record<string, "f32">,
    writes: { c: "f32" },
    code: `
@compute @workgroup_size(256) fn main(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) count: vec3u,
  @builtin(local_invocation_index) i: u32,
) {
  let M = select(p.M, min(p.limit, max(batch[p.kind], p.first) - p.first), p.M == 0u);
  let element = workgroupIndex(id, count) * 256u + i;
  if (element >= M * p.N) { return; }
  var sum = 0.0;
  for (var split = 0u; split < p.splits; split++) { sum += parts[split * M * p.N + element]; }
${writeOne("p.cFrom + element / p.N * p.cRow + element % p.N", "sum", "0.0", addsOther)}
}`,
  });
