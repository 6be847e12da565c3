import { THREADS, kernel } from "../device/kernel.ts";

/** WGSL: a thread for each of the batch's rows × `p.width` elements. */
const main = (body: string, rows = "batch[p.kind]") => `
@compute @workgroup_size(${THREADS}) fn main(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) count: vec3u,
  @builtin(local_invocation_index) i: u32,
) {
  let element = workgroupIndex(id, count) * ${THREADS}u + i;
  let row = element / p.width;
  let column = element % p.width;
  if (row >= ${rows}) { return; }
${body}
}`;

/** y = y + bias, in the columns from `start` on. */
export const addBias = kernel("bias", {
  params: { kind: "u32", width: "u32", row: "u32", start: "u32" },
  reads: { bias: "f32" },
  writes: { y: "f32" },
  code: main("  y[row * p.row + p.start + column] += bias[column];"),
});

/** Copies columns. */
export const copyColumns = kernel("copy", {
  params: { kind: "u32", width: "u32", row: "u32", start: "u32" },
  reads: { x: "f32" },
  writes: { y: "f32" },
  code: main(`  let at = row * p.row + p.start + column;
  y[at] = x[at];`),
});

/** Rows of x at indices; zeros at 0xffffffff. */
export const gather = kernel("gather", {
  params: { kind: "u32", width: "u32" },
  reads: { x: "f32", indices: "u32" },
  writes: { y: "f32" },
  code: main(`  let at = indices[row];
  var value = 0.0;
  if (at != 0xffffffffu) { value = x[at * p.width + column]; }
  y[element] = value;`),
});

export const clear = kernel("clear", {
  params: { rows: "u32", width: "u32" },
  reads: {},
  writes: { y: "f32" },
  code: main("  y[element] = 0.0;", "p.rows"),
});

const GATED = {
  swiglu: {
    value: "gate / (1.0 + exp(-gate))",
    slope: `  let sigmoid = 1.0 / (1.0 + exp(-gate));
  let value = gate * sigmoid;
  let slope = sigmoid * (1.0 + gate * (1.0 - sigmoid));`,
  },
  // GELU's tanh approximation: x · (1 + tanh(u)) / 2 = x / (1 + e^(−2u)).
  geglu: {
    value: "gate / (1.0 + exp(-2.0 * inner(gate)))",
    slope: `  let half = 1.0 / (1.0 + exp(-2.0 * inner(gate)));
  let value = gate * half;
  let slope = half + gate * half * (1.0 - half) * 2.0 * ${Math.sqrt(2 / Math.PI)} * (1.0 + 3.0 * 0.044715 * gate * gate);`,
  },
};

const INNER = `
fn inner(x: f32) -> f32 { return clamp(${Math.sqrt(2 / Math.PI)} * (x + 0.044715 * x * x * x), -40.0, 40.0); }
`;

const GATE = `  let at = row * 2u * p.width + column;
  let gate = x[at];
  let up = x[at + p.width];
`;

/** y = activation(gate) · up, of x = [gate, up]. */
export const gatedUnit = (kind: keyof typeof GATED) =>
  kernel(kind, {
    params: { kind: "u32", width: "u32" },
    reads: { x: "f32" },
    writes: { y: "f32" },
    code: INNER + main(`${GATE}  y[element] = ${GATED[kind].value} * up;`),
  });

export const gatedUnitBack = (kind: keyof typeof GATED) =>
  kernel(`${kind} backward`, {
    params: { kind: "u32", width: "u32" },
    reads: { x: "f32", dy: "f32" },
    writes: { dx: "f32" },
    code:
      INNER +
      main(`${GATE}${GATED[kind].slope}
  dx[at] = dy[element] * up * slope;
  dx[at + p.width] = dy[element] * value;`),
  });

/** Rotates the pairs (i, i + width) of each head by ± its position's angle. `width`: half of a head. */
export const rotate = kernel("rope", {
  params: { heads: "u32", width: "u32", row: "u32", sign: "f32" },
  reads: { positions: "u32", cosines: "f32", sines: "f32" },
  writes: { x: "f32" },
  code: main(
    `  let token = row / p.heads;
  let at = token * p.row + row % p.heads * 2u * p.width + column;
  let angle = positions[token] * p.width + column;
  let c = cosines[angle];
  let s = p.sign * sines[angle];
  let a = x[at];
  let b = x[at + p.width];
  x[at] = a * c - b * s;
  x[at + p.width] = b * c + a * s;`,
    "batch.x * p.heads",
  ),
});

/** The gradients of keys and values, from those of each head of a group. */
export const groupSums = kernel("attention sums of groups", {
  params: { group: "u32", headDim: "u32", width: "u32", row: "u32", kFrom: "u32" },
  reads: { parts: "f32" },
  writes: { dqkv: "f32" },
  code: main(
    `  var at = (row * p.width + column / p.headDim * p.headDim) * p.group + column % p.headDim;
  var sum = 0.0;
  for (var head = 0u; head < p.group; head++) {
    sum += parts[at];
    at += p.headDim;
  }
  dqkv[row * p.row + p.kFrom + column] = sum;`,
    "batch.x",
  ),
});
