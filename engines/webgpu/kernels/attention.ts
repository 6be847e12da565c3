import { kernel } from "../device/kernel.ts";

/** Queries and keys of a tile; each thread of 16 × 16 computes 2 × 2 of its scores. */
export const TILE = 32;
/** Dimensions of a head that are in a workgroup's memory at a time, for scores and for sums of rows. */
const [SCORE_DEPTH, ROW_DEPTH] = [8, 16];
/** Strides in that memory: odd, so that threads read different banks. */
const [SCORE_STRIDE, ROW_STRIDE, TILE_STRIDE] = [SCORE_DEPTH + 1, ROW_DEPTH + 1, TILE + 1];

const PARAMS = {
  ...({ heads: "u32", group: "u32", row: "u32", kFrom: "u32", vFrom: "u32" } as const),
  ...({ headDim: "u32", window: "u32", scale: "f32" } as const),
} as const;

/** The sizes that kernels are compiled for: a head's registers are those of the next one. */
const SIZES = [16, 64, 128, 256];

export const MAX_HEAD_DIM = SIZES.at(-1)!;

function columnsOf(headDim: number): number {
  const size = SIZES.find((one) => one >= headDim);
  if (size === undefined) throw new Error(`a head of ${headDim} is too large`);
  return size / ROW_DEPTH;
}

/** WGSL of a kernel for heads of some size. `starts` and `ends` are each token's sequence. */
const tiles = (headDim: number) => `
const COLUMNS = ${columnsOf(headDim)}u;
/** The shared copies of rows of four arrays, or of two. */
var<workgroup> rows: array<f32, ${4 * TILE * SCORE_STRIDE}>;
var<workgroup> range: vec2u;

fn firstKey(query: u32) -> u32 {
  let seen = query + 1u;
  return max(starts[query], select(0u, seen - p.window, seen > p.window));
}

fn sees(query: u32, key: u32) -> bool {
  return query < batch.x && key <= query && key >= firstKey(query);
}

fn scoreRow(part: u32, row: u32) -> u32 { return (part * ${TILE}u + row) * ${SCORE_STRIDE}u; }
fn sumRow(part: u32, row: u32) -> u32 { return (part * ${TILE}u + row) * ${ROW_STRIDE}u; }
`;

/** Loads a part of `TILE` rows of an array, from `token` and `column` on. */
const load = (
  { stride, depth }: { stride: "scoreRow" | "sumRow"; depth: number },
  parts: readonly [array: string, token: string, rowStride: string, column: string][],
) => `
    workgroupBarrier();
    for (var t = i; t < ${TILE * depth}u; t += 256u) {
      let row = t / ${depth}u;
      let d = d0 + t % ${depth}u;
${parts
  .map(
    ([array, token, rowStride, column], part) => `
      var value${part} = 0.0;
      if (d < p.headDim && ${token} + row < batch.x) { value${part} = ${array}[(${token} + row) * ${rowStride} + ${column} + d]; }
      rows[${stride}(${part}u, row) + t % ${depth}u] = value${part};`,
  )
  .join("")}
    }
    workgroupBarrier();`;

/** Products of the rows of two loaded parts: 2 × 2 of each thread, as (00, 01, 10, 11). */
const products = (name: string, left: number, right: number) => `
      {
        let a = vec2f(rows[scoreRow(${left}u, 2u * l.y) + d], rows[scoreRow(${left}u, 2u * l.y + 1u) + d]);
        let b = vec2f(rows[scoreRow(${right}u, 2u * l.x) + d], rows[scoreRow(${right}u, 2u * l.x + 1u) + d]);
        ${name} = fma(a.xxyy, b.xyxy, ${name});
      }`;

const scoreLoop = (
  parts: Parameters<typeof load>[1],
  pairs: readonly (readonly [string, number, number])[],
) => `
    for (var d0 = 0u; d0 < p.headDim; d0 += ${SCORE_DEPTH}u) {${load({ stride: "scoreRow", depth: SCORE_DEPTH }, parts)}
      for (var d = 0u; d < ${SCORE_DEPTH}u; d++) {${pairs.map((pair) => products(...pair)).join("")}
      }
    }`;

/** Stores a thread's 2 × 2 in a tile. */
const store = (tile: string, value: string) =>
  `for (var j = 0u; j < 4u; j++) { ${tile}[(2u * l.y + j / 2u) * ${TILE_STRIDE}u + 2u * l.x + j % 2u] = ${value}[j]; }`;

/** Adds a tile × loaded rows to a thread's two rows of sums, column by column. */
const addRows = (
  parts: Parameters<typeof load>[1],
  sums: readonly (readonly [sum: string, tile: string, part: number])[],
) => `
    for (var column = 0u; column < COLUMNS; column++) {
      let d0 = column * ${ROW_DEPTH}u;${load({ stride: "sumRow", depth: ROW_DEPTH }, parts)}
      for (var r = 0u; r < ${TILE}u; r++) {${sums
        .map(
          ([sum, tile, part]) => `
        ${sum}[column] = fma(vec2f(${tile}[2u * l.y * ${TILE_STRIDE}u + r], ${tile}[(2u * l.y + 1u) * ${TILE_STRIDE}u + r]),
          vec2f(rows[sumRow(${part}u, r) + l.x]), ${sum}[column]);`,
        )
        .join("")}
      }
    }`;

const MAIN = `
@compute @workgroup_size(16, 16) fn main(
  @builtin(workgroup_id) id: vec3u,
  @builtin(local_invocation_id) l: vec3u,
  @builtin(local_invocation_index) i: u32,
) {`;

/** The keys that a block of queries sees. */
const KEY_RANGE = `
  let head = id.y;
  let kvHead = head / p.group;
  let q0 = id.x * ${TILE}u;
  if (i == 0u) { range = vec2u(firstKey(q0) / ${TILE}u * ${TILE}u, min(q0 + ${TILE}u, batch.x)); }
  let keys = workgroupUniformLoad(&range);
  let query = q0 + 2u * l.y;`;

const Q = ["qkv", "q0", "p.row", "head * p.headDim"] as const;
const K = ["qkv", "k0", "p.row", "p.kFrom + kvHead * p.headDim"] as const;
const V = ["qkv", "k0", "p.row", "p.vFrom + kvHead * p.headDim"] as const;
const DY = ["dy", "q0", "p.heads * p.headDim", "head * p.headDim"] as const;

/** Each thread's 2 × 2 of the scores that count. */
const VISIBLE = `
    let key = k0 + 2u * l.x;
    let visible = vec4<bool>(sees(query, key), sees(query, key + 1u), sees(query + 1u, key), sees(query + 1u, key + 1u));`;

/** y = softmax(q·kᵀ · scale)·v, by tiles, and each row's log of the sum of exponentials. */
export const attention = (headDim: number) =>
  kernel(`attention ${columnsOf(headDim)}`, {
    params: PARAMS,
    reads: { qkv: "f32", starts: "u32" },
    writes: { y: "f32", logSums: "f32" },
    code: `${tiles(headDim)}
var<workgroup> probs: array<f32, ${TILE * TILE_STRIDE}>;
${MAIN}${KEY_RANGE}
  var high = vec2f(-1e30);
  var total = vec2f(0.0);
  var sums: array<vec2f, COLUMNS>;
  for (var k0 = keys.x; k0 < keys.y; k0 += ${TILE}u) {
    var scores = vec4f(0.0);${scoreLoop([[...Q], [...K]], [["scores", 0, 1]])}${VISIBLE}
    scores = select(vec4f(-1e30), scores * p.scale, visible);
    ${store("probs", "scores")}
    workgroupBarrier();
    let before = high;
    for (var c = 0u; c < ${TILE}u; c++) {
      high = max(high, vec2f(probs[2u * l.y * ${TILE_STRIDE}u + c], probs[(2u * l.y + 1u) * ${TILE_STRIDE}u + c]));
    }
    workgroupBarrier();
    scores = select(vec4f(0.0), exp(scores - high.xxyy), visible);
    ${store("probs", "scores")}
    workgroupBarrier();
    let factor = exp(before - high);
    total *= factor;
    for (var c = 0u; c < ${TILE}u; c++) {
      total += vec2f(probs[2u * l.y * ${TILE_STRIDE}u + c], probs[(2u * l.y + 1u) * ${TILE_STRIDE}u + c]);
    }
    for (var column = 0u; column < COLUMNS; column++) { sums[column] *= factor; }${addRows([[...V]], [["sums", "probs", 0]])}
  }
  for (var r = 0u; r < 2u; r++) {
    if (query + r >= batch.x) { continue; }
    if (l.x == 0u) { logSums[(query + r) * p.heads + head] = high[r] + log(total[r]); }
    for (var column = 0u; column < COLUMNS; column++) {
      let d = column * ${ROW_DEPTH}u + l.x;
      if (d < p.headDim) { y[((query + r) * p.heads + head) * p.headDim + d] = sums[column][r] / total[r]; }
    }
  }
}`,
  });

/** Σ dy · y of each token and head. */
export const attentionDots = kernel("attention dots", {
  params: { heads: "u32", headDim: "u32" },
  reads: { y: "f32", dy: "f32" },
  writes: { dots: "f32" },
  code: `
@compute @workgroup_size(256) fn main(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) count: vec3u,
  @builtin(local_invocation_index) i: u32,
) {
  let row = workgroupIndex(id, count) * 256u + i;
  if (row >= batch.x * p.heads) { return; }
  var sum = 0.0;
  for (var at = row * p.headDim; at < (row + 1u) * p.headDim; at++) { sum += dy[at] * y[at]; }
  dots[row] = sum;
}`,
});

/** A thread's probabilities, and the gradients of its scores. */
const GRADIENTS = (query: string, transposed: boolean) => {
  const rowOf = (j: string) =>
    `min(${query} + ${transposed ? `${j} % 2u` : `${j} / 2u`}, batch.x - 1u) * p.heads + head`;
  return `
    var weights = vec4f(0.0);
    var slopes = vec4f(0.0);
    for (var j = 0u; j < 4u; j++) {
      let row = ${rowOf("j")};
      if (visible[j]) { weights[j] = exp(scores[j] * p.scale - logSums[row]); }
      slopes[j] = weights[j] * (dots4[j] - dots[row]) * p.scale;
    }`;
};

const BACK_READS = { qkv: "f32", dy: "f32", logSums: "f32", dots: "f32", starts: "u32" } as const;

/** The gradient of queries: a workgroup for each block of them. */
export const queryBack = (headDim: number) =>
  kernel(`attention backward q ${columnsOf(headDim)}`, {
    params: PARAMS,
    reads: BACK_READS,
    writes: { dqkv: "f32" },
    code: `${tiles(headDim)}
var<workgroup> slopeTile: array<f32, ${TILE * TILE_STRIDE}>;
${MAIN}${KEY_RANGE}
  var sums: array<vec2f, COLUMNS>;
  for (var k0 = keys.x; k0 < keys.y; k0 += ${TILE}u) {
    var scores = vec4f(0.0);
    var dots4 = vec4f(0.0);${scoreLoop(
      [[...Q], [...K], [...DY], [...V]],
      [
        ["scores", 0, 1],
        ["dots4", 2, 3],
      ],
    )}${VISIBLE}${GRADIENTS("query", false)}
    ${store("slopeTile", "slopes")}${addRows([[...K]], [["sums", "slopeTile", 0]])}
  }
  for (var r = 0u; r < 2u; r++) {
    for (var column = 0u; column < COLUMNS; column++) {
      let d = column * ${ROW_DEPTH}u + l.x;
      if (query + r < batch.x && d < p.headDim) { dqkv[(query + r) * p.row + head * p.headDim + d] = sums[column][r]; }
    }
  }
}`,
  });

/** The gradients of keys and values: a workgroup for each block of them, over all queries that see them. */
export const keyBack = (headDim: number) =>
  kernel(`attention backward kv ${columnsOf(headDim)}`, {
    params: PARAMS,
    reads: { ...BACK_READS, ends: "u32" },
    writes: { dqkv: "f32" },
    code: `${tiles(headDim)}
var<workgroup> weightTile: array<f32, ${TILE * TILE_STRIDE}>;
var<workgroup> slopeTile: array<f32, ${TILE * TILE_STRIDE}>;
${MAIN}
  let kvHead = id.y;
  let k0 = id.x * ${TILE}u;
  if (i == 0u) {
    let last = min(k0 + ${TILE - 1}u, batch.x - 1u);
    range = vec2u(k0, min(ends[last], last + p.window));
  }
  let queries = workgroupUniformLoad(&range);
  let key = k0 + 2u * l.y;
  var dk: array<vec2f, COLUMNS>;
  var dv: array<vec2f, COLUMNS>;
  for (var head = kvHead * p.group; head < (kvHead + 1u) * p.group; head++) {
    for (var q0 = queries.x; q0 < queries.y; q0 += ${TILE}u) {
    let query = q0 + 2u * l.x;
    var scores = vec4f(0.0);
    var dots4 = vec4f(0.0);${scoreLoop(
      [[...K], [...Q], [...V], [...DY]],
      [
        ["scores", 0, 1],
        ["dots4", 2, 3],
      ],
    )}
    let visible = vec4<bool>(sees(query, key), sees(query + 1u, key), sees(query, key + 1u), sees(query + 1u, key + 1u));${GRADIENTS("query", true)}
    ${store("weightTile", "weights")}
    ${store("slopeTile", "slopes")}${addRows(
      [[...Q], [...DY]],
      [
        ["dk", "slopeTile", 0],
        ["dv", "weightTile", 1],
      ],
    )}
    }
  }
  for (var r = 0u; r < 2u; r++) {
    if (key + r >= batch.x) { continue; }
    for (var column = 0u; column < COLUMNS; column++) {
      let d = column * ${ROW_DEPTH}u + l.x;
      if (d >= p.headDim) { continue; }
      let to = (key + r) * p.row + kvHead * p.headDim + d;
      dqkv[to + p.kFrom] = dk[column][r];
      dqkv[to + p.vFrom] = dv[column][r];
    }
  }
}`,
  });
