import { THREADS, kernel, rowSum } from "../device/kernel.ts";

/** Threads of a row, which is short where it is a head. */
const ROW_THREADS = 64;

/** A row for each head of each row of the batch. */
const ROWS = `
fn rows() -> u32 { return batch[p.kind] * p.heads; }
fn rowAt(row: u32) -> u32 { return row / p.heads * p.row + p.start + row % p.heads * p.width; }
`;

const WEIGHT = `
fn weight(column: u32) -> f32 { return p.centered + w[column]; }
`;

const PARAMS = {
  ...({ kind: "u32", heads: "u32", width: "u32", row: "u32", start: "u32" } as const),
  /** Added to the weight: 1 if it is stored around 0. */
  centered: "f32",
} as const;

const MAIN = `
@compute @workgroup_size(${ROW_THREADS}) fn main(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) count: vec3u,
  @builtin(local_invocation_index) i: u32,
) {
  let row = workgroupIndex(id, count);
  if (row >= rows()) { return; }
  let at = rowAt(row);`;

const READS = { x: "f32", w: "f32" } as const;

const forward = <R extends string>(name: string, reads: Record<R, "f32">, added: string) =>
  kernel(name, {
    params: { ...PARAMS, epsilon: "f32" },
    reads,
    writes: { y: "f32", rstd: "f32" },
    code: `${ROWS}${WEIGHT}${rowSum(ROW_THREADS)}${MAIN}
  var sum = 0.0;
  for (var c = i; c < p.width; c += ${ROW_THREADS}u) { sum += x[at + c] * x[at + c]; }
  let scale = 1.0 / sqrt(rowSum(sum, i) / f32(p.width) + p.epsilon);
  if (i == 0u) { rstd[row] = scale; }
  for (var c = i; c < p.width; c += ${ROW_THREADS}u) {
    y[at + c] = ${added}x[at + c] * scale * weight(c);
  }
}`,
  });

/** RMSNorm: y = x · w / √(mean(x²) + epsilon), and the factor of each row. */
export const norm = forward("norm", READS, "");
/** The same added to a residual. */
export const residualNorm = forward(
  "residual norm",
  { ...READS, residual: "f32" },
  "residual[at + c] + ",
);

/** The gradient of x, added to the previous one if `adds`. */
export const normBack = kernel("norm backward", {
  params: { ...PARAMS, adds: "u32" },
  reads: { x: "f32", w: "f32", rstd: "f32", dy: "f32" },
  writes: { dx: "f32" },
  code: `${ROWS}${WEIGHT}${rowSum(ROW_THREADS)}${MAIN}
  let scale = rstd[row];
  var sum = 0.0;
  for (var c = i; c < p.width; c += ${ROW_THREADS}u) { sum += dy[at + c] * weight(c) * x[at + c]; }
  let mean = rowSum(sum, i) / f32(p.width) * scale * scale;
  for (var c = i; c < p.width; c += ${ROW_THREADS}u) {
    var before = 0.0;
    if (p.adds != 0u) { before = dx[at + c]; }
    dx[at + c] = before + scale * (dy[at + c] * weight(c) - x[at + c] * mean);
  }
}`,
});

/** Columns and lanes of rows of a workgroup that sums columns. */
export const SUM_COLUMNS = 32;
const LANES = THREADS / SUM_COLUMNS;

/** @param value WGSL of the summed value of `row` and `column` */
const columnSums = (value: string) => `
var<workgroup> lanes: array<f32, ${THREADS}>;

@compute @workgroup_size(${THREADS}) fn main(
  @builtin(workgroup_id) id: vec3u,
  @builtin(local_invocation_index) i: u32,
) {
  let column = id.x * ${SUM_COLUMNS}u + i % ${SUM_COLUMNS}u;
  var sum = 0.0;
  if (column < p.width) {
    for (var row = i / ${SUM_COLUMNS}u; row < rows(); row += ${LANES}u) { sum += ${value}; }
  }
  lanes[i] = sum;
  workgroupBarrier();
  if (i >= ${SUM_COLUMNS}u || column >= p.width) { return; }
  for (var lane = 1u; lane < ${LANES}u; lane++) { sum += lanes[lane * ${SUM_COLUMNS}u + i]; }
  if (p.adds != 0u) { sum += dw[column]; }
  dw[column] = sum;
}`;

/** The gradient of w, added to the previous one if `adds`. */
export const normWeightBack = kernel("norm weight backward", {
  params: { ...PARAMS, adds: "u32" },
  reads: { x: "f32", rstd: "f32", dy: "f32" },
  writes: { dw: "f32" },
  code: ROWS + columnSums("x[rowAt(row) + column] * rstd[row] * dy[rowAt(row) + column]"),
});

/** The gradient of a bias, added to the previous one if `adds`. */
export const biasBack = kernel("bias backward", {
  params: { kind: "u32", width: "u32", row: "u32", start: "u32", adds: "u32" },
  reads: { dy: "f32" },
  writes: { dw: "f32" },
  code: `
fn rows() -> u32 { return batch[p.kind]; }
${columnSums("dy[row * p.row + p.start + column]")}`,
});
