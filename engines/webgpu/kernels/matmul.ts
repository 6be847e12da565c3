import { type Kernel, kernel } from "../device/kernel.ts";
import { type StoredType, decoder, wordOf } from "./stored.ts";

/** Rows and columns of the result that a workgroup computes, 16 for each of its 256 threads. */
export type Tile = readonly [rows: number, columns: number];

export interface MatmulVariant {
  tile: Tile;
  /** Whether adjacent elements of A are a row's, otherwise a column's. */
  isAByRow: boolean;
  /** Whether adjacent elements of B are a column's, as of a transposed matrix [n, k]. */
  isBByColumn: boolean;
  type: StoredType;
  /** Whether the product is added to another array, otherwise to the result itself or, without `adds`, to 0. */
  addsOther: boolean;
}

/** Depth of the tiles of A and B: all of them fit in 16 KiB, which every GPU has. */
const depthOf = ([rows, columns]: Tile) => (Math.max(rows, columns) > 64 ? 8 : 16);
/** Rows and columns of a thread. */
const BLOCK = 4;

/**
 * C [M, N] = added + alpha · A·B, by tiles in a workgroup's memory and blocks of 4 × 4 in registers. One of M and K may
 * be the batch's rows.
 */
export function matmul({
  tile,
  isAByRow,
  isBByColumn,
  type,
  addsOther,
}: MatmulVariant): Kernel<(typeof SIZES)[number] | "alpha", string> {
  const [rows, columns] = tile;
  const DEPTH = depthOf(tile);
  const across = columns / BLOCK;
  const added = addsOther ? { added: "f32" } : {};
  const name = ["matmul", ...tile, isAByRow, isBByColumn, type, addsOther].join(" ");
  return kernel(name, {
    params: { ...(Object.fromEntries(SIZES.map((size) => [size, "u32"])) as Sizes), alpha: "f32" },
    reads: { a: "f32", w: wordOf(type), ...added } as Record<string, "f32" | "u32">,
    writes: { c: "f32" },
    code: `
var<workgroup> aTile: array<vec4f, ${(DEPTH * rows) / BLOCK}>;
var<workgroup> bTile: array<vec4f, ${(DEPTH * columns) / BLOCK}>;

/** Rows of the batch that this product takes. */
fn batchRows() -> u32 { return min(p.limit, max(batch[p.kind], p.first) - p.first); }

fn readA(m: u32, k: u32, M: u32, K: u32) -> f32 {
  if (m >= M || k >= K) { return 0.0; }
  return a[p.aFrom + m * p.aRow + k * p.aColumn];
}

${decoder(type)}

fn readB(k: u32, n: u32, K: u32) -> f32 {
  if (k >= K || n >= p.N) { return 0.0; }
  return decode(p.wFrom + k * p.wRow + n * p.wColumn);
}

@compute @workgroup_size(256) fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(local_invocation_index) i: u32,
) {
  let M = select(p.M, batchRows(), p.M == 0u);
  let K = select(p.K, batchRows(), p.K == 0u);
  let m0 = group.y * ${rows}u;
  let n0 = group.x * ${columns}u;
  let row = i / ${across}u;
  let column = i % ${across}u;
  var sums: array<vec4f, ${BLOCK}>;
  for (var k0 = 0u; k0 < K; k0 += ${DEPTH}u) {
    workgroupBarrier();
${fill("aTile", rows, DEPTH, isAByRow, (m, k) => `readA(m0 + ${m}, k0 + ${k}, M, K)`)}
${fill("bTile", columns, DEPTH, isBByColumn, (n, k) => `readB(k0 + ${k}, n0 + ${n}, K)`)}
    workgroupBarrier();
    for (var k = 0u; k < ${DEPTH}u; k++) {
      let left = aTile[k * ${rows / BLOCK}u + row];
      let right = bTile[k * ${across}u + column];
      sums[0] = fma(vec4f(left.x), right, sums[0]);
      sums[1] = fma(vec4f(left.y), right, sums[1]);
      sums[2] = fma(vec4f(left.z), right, sums[2]);
      sums[3] = fma(vec4f(left.w), right, sums[3]);
    }
  }
  for (var y = 0u; y < ${BLOCK}u; y++) {
    let m = m0 + row * ${BLOCK}u + y;
    for (var x = 0u; x < ${BLOCK}u; x++) {
      let n = n0 + column * ${BLOCK}u + x;
      if (m >= M || n >= p.N) { continue; }
      let to = p.cFrom + m * p.cRow + n;
      var before = 0.0;
      ${addsOther ? "before = added[to];" : "if (p.adds != 0u) { before = c[to]; }"}
      c[to] = before + p.alpha * sums[y][x];
    }
  }
}`,
  });
}

/** `M` and `K`: 0 for the batch's rows, from `first`, at most `limit`; `kind` is their count's place in `batch`. */
const SIZES = [
  "M",
  "N",
  "K",
  "kind",
  "first",
  "limit",
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

/**
 * WGSL: fills a tile with vectors of four elements across, so that adjacent threads read adjacent memory.
 * @param isByDepth whether elements along the depth are adjacent
 */
function fill(
  tile: string,
  width: number,
  DEPTH: number,
  isByDepth: boolean,
  read: (across: string, depth: string) => string,
): string {
  const vectors = width / BLOCK;
  const [depth, first] = isByDepth
    ? [`t % ${DEPTH}u`, `t / ${DEPTH}u`]
    : [`t / ${vectors}u`, `t % ${vectors}u`];
  const four = Array.from({ length: BLOCK }, (_, j) => read(`four + ${j}u`, "depth"));
  return `    for (var t = i; t < ${vectors * DEPTH}u; t += 256u) {
      let depth = ${depth};
      let four = (${first}) * ${BLOCK}u;
      ${tile}[depth * ${vectors}u + ${first}] = vec4f(${four.join(", ")});
    }`;
}
