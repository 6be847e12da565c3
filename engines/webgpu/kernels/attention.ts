import { kernel } from "../device/kernel.ts";
import {
  type HeadSize,
  type Product,
  type Rows,
  OPERANDS,
  TILE,
  columnsOf,
  combine,
  declareSums,
  fetchScores,
  four,
  headSize,
  reader,
  rowSums,
  scores,
  writeSums,
  writer,
} from "./attentionTiles.ts";

/** `limit`: rows of `logSums` and `dots` of a head. */
const PARAMS = {
  ...({ heads: "u32", group: "u32", row: "u32", kFrom: "u32", vFrom: "u32" } as const),
  ...({ headDim: "u32", window: "u32", scale: "f32", limit: "u32" } as const),
} as const;

/** WGSL of all kernels. `starts` and `ends` are each token's sequence; a query beyond the batch sees no key. */
const COMMON = `${OPERANDS}
fn firstKey(query: u32) -> u32 {
  if (query >= batch.x) { return 0xffffffffu; }
  let seen = query + 1u;
  return max(starts[query], select(0u, seen - p.window, seen > p.window));
}

/** The range of keys that a tile of queries sees. */
fn keysOf(q0: u32) -> vec2u { return vec2u(firstKey(q0), min(q0 + ${TILE}u, batch.x)); }

/** Where a head's number of a query is. */
fn ofQuery(head: u32, query: u32) -> u32 { return head * p.limit + min(query, batch.x - 1u); }

fn four(first: u32) -> vec4u { return vec4u(first) + vec4u(0u, 1u, 2u, 3u); }
`;

const qkvReader = (size: HeadSize) => reader("qkv", "p.row", size);
const [yReader, dyReader] = ["y", "dy"].map(
  (array) => (size: HeadSize) => reader(array, "p.heads * p.headDim", size),
) as [typeof qkvReader, typeof qkvReader];

const elementOf = ({ isAligned }: HeadSize) => (isAligned ? "vec4f" : "f32");

const MAIN = `
@compute @workgroup_size(16, 16) fn main(
  @builtin(workgroup_id) id: vec3u,
  @builtin(local_invocation_id) l: vec3u,
  @builtin(local_invocation_index) i: u32,
) {
  let head = id.x;
  let kvHead = head / p.group;
  var next = mat4x4f();`;

/** The workgroup's queries: the last ones, which see the most keys, first. */
const QUERIES = `
  let q0 = ((batch.x - 1u) / ${TILE}u - id.y) * ${TILE}u;
  let keys = keysOf(q0);
  let query = q0 + l.y * 4u;`;

const Q: Rows = { array: "qkv", first: "q0", from: "head * p.headDim" };
const K: Rows = { array: "qkv", first: "k0", from: "p.kFrom + kvHead * p.headDim" };
const V: Rows = { array: "qkv", first: "k0", from: "p.vFrom + kvHead * p.headDim" };
const DY: Rows = { array: "dy", first: "q0", from: "head * p.headDim" };

/** The rows of the next tile. */
const nextTile = (rows: Rows): Rows => ({ ...rows, first: `${rows.first} + ${TILE}u` });

/** WGSL: adds products one after another. @param last reads what the product after them needs */
const inTurn = (products: readonly Product[], last: string) =>
  products.map(({ add }, n) => add(products[n + 1]?.fetch ?? last)).join("");

const forRows = (text: (row: number) => string) => four(text).join("\n");

/** A vector of a number of each row. */
const ofRows = (text: (row: number) => string) => `vec4f(${four(text).join(", ")})`;

/** The first key that each of a thread's queries sees. */
const FIRST_KEYS = `
  let firstKeys = vec4u(${four((row) => `firstKey(query + ${row}u)`).join(", ")});`;
/** Whether a query sees each of the thread's keys. */
const isKeyVisible = (row: number) =>
  `(key <= vec4u(query + ${row}u)) & (key >= vec4u(firstKeys[${row}]))`;

/** y = softmax(q·kᵀ · scale)·v, by tiles, and each row's log of the sum of exponentials. */
export const attention = (headDim: number) => {
  const size = headSize(headDim);
  const products = scores({ sums: "weights", left: Q, right: K }, size);
  const sums = rowSums({ sums: "sums", scores: "weights", rows: V, end: "keys.y" }, size);
  return kernel(`attention ${Object.values(size).join(" ")}`, {
    params: PARAMS,
    reads: { qkv: elementOf(size), starts: "u32" },
    writes: { y: elementOf(size), logSums: "f32" },
    code: `${COMMON}${qkvReader(size)}${writer("y", "p.heads * p.headDim", size)}
${MAIN}${QUERIES}${FIRST_KEYS}
  // A score that doesn't count is lower than this one: its exponential is 0.
  var high = vec4f(-1e29);
  // Of the thread's own keys.
  var total = vec4f(0.0);
${declareSums("sums", size)}
  var k0 = keys.x;${products.fetch}
  for (; k0 < keys.y; k0 += ${TILE}u) {
    var weights = mat4x4f();${inTurn([products], sums.fetch)}
    let key = four(k0 + l.x * 4u);
${forRows((row) => `    weights[${row}] = select(vec4f(-1e30), weights[${row}] * p.scale, ${isKeyVisible(row)});`)}
    let before = high;
    let columns = transpose(weights);
    high = max(max(columns[0], columns[1]), max(columns[2], columns[3]));${combine("high", (value) => `max(high, ${value})`)}
    high = max(high, before);
    let factor = exp(before - high);
${forRows((row) => `    weights[${row}] = exp(weights[${row}] - high[${row}]);`)}
    total = fma(total, factor, ${ofRows((row) => `dot(weights[${row}], vec4f(1.0))`)});
${columnsOf(size)
  .map((column) => forRows((row) => `    sums${column}[${row}] *= factor[${row}];`))
  .join("\n")}${inTurn([sums], fetchScores(Q, nextTile(K)))}
  }${combine("total", (value) => `total + ${value}`)}
  if (l.x == 0u) {
${forRows((row) => `    if (query + ${row}u < batch.x) { logSums[ofQuery(head, query + ${row}u)] = high[${row}] + log(total[${row}]); }`)}
  }
${writeSums({ ...Q, value: (column, row) => `sums${column}[${row}] / total[${row}]` }, size)}
}`,
  });
};

/** Gradients of scores, from `weights` and `slopes`, the products of dy and v. */
const gradients = (
  visible: (row: number) => string,
  logSum: (row: number) => string,
  dot: (row: number) => string,
) =>
  forRows(
    (row) => `
    {
      let visible = ${visible(row)};
      let weight = exp(weights[${row}] * p.scale - ${logSum(row)});
      weights[${row}] = select(vec4f(0.0), weight, visible);
      slopes[${row}] = select(vec4f(0.0), weight * (slopes[${row}] - ${dot(row)}) * p.scale, visible);
    }`,
  );

/** The gradient of queries: a workgroup for each tile of them. It also computes their `dots`, Σ dy · y of each head. */
export const queryBack = (headDim: number) => {
  const size = headSize(headDim);
  const element = elementOf(size);
  const products = [
    scores({ sums: "weights", left: Q, right: K }, size),
    scores({ sums: "slopes", left: DY, right: V }, size),
  ];
  const sums = rowSums({ sums: "sums", scores: "slopes", rows: K, end: "keys.y" }, size);
  return kernel(`attention backward q ${Object.values(size).join(" ")}`, {
    params: PARAMS,
    reads: { qkv: element, y: element, dy: element, logSums: "f32", starts: "u32" },
    writes: { dqkv: element, dots: "f32" },
    code: `${COMMON}${[qkvReader, yReader, dyReader].map((read) => read(size)).join("")}${writer("dqkv", "p.row", size)}
${MAIN}${QUERIES}${FIRST_KEYS}
  let logSum = ${ofRows((row) => `logSums[ofQuery(head, query + ${row}u)]`)};
  var dot4 = vec4f(0.0);
  for (var d = l.x * 4u; d < p.headDim; d += ${TILE}u) {
    dot4 += ${ofRows((row) => `dot(y4(query + ${row}u, ${Q.from}, d), dy4(query + ${row}u, ${Q.from}, d))`)};
  }${combine("dot4", (value) => `dot4 + ${value}`)}
  if (l.x == 0u) {
${forRows((row) => `    if (query + ${row}u < batch.x) { dots[ofQuery(head, query + ${row}u)] = dot4[${row}]; }`)}
  }
${declareSums("sums", size)}
  var k0 = keys.x;${products[0]!.fetch}
  for (; k0 < keys.y; k0 += ${TILE}u) {
    var weights = mat4x4f();
    var slopes = mat4x4f();${inTurn(products, sums.fetch)}
    let key = four(k0 + l.x * 4u);${gradients(
      isKeyVisible,
      (row) => `logSum[${row}]`,
      (row) => `dot4[${row}]`,
    )}${inTurn([sums], fetchScores(Q, nextTile(K)))}
  }
${writeSums({ ...Q, value: (column, row) => `sums${column}[${row}]` }, size)}
}`,
  });
};

/**
 * The gradients of keys and values, of one head of a group: a workgroup for each tile of them, over all queries that
 * see them. The first keys, which the most queries see, come first.
 */
export const keyBack = (headDim: number) => {
  const size = headSize(headDim);
  const element = elementOf(size);
  const products = [
    scores({ sums: "weights", left: K, right: Q }, size),
    scores({ sums: "slopes", left: V, right: DY }, size),
  ];
  const sums = [
    rowSums({ sums: "dk", scores: "slopes", rows: Q, end: "queries.y" }, size),
    rowSums({ sums: "dv", scores: "weights", rows: DY, end: "queries.y" }, size),
  ];
  return kernel(`attention backward kv ${Object.values(size).join(" ")}`, {
    params: { ...PARAMS, toRow: "u32", kTo: "u32", vTo: "u32" },
    reads: {
      ...({ qkv: element, dy: element } as const),
      ...({ logSums: "f32", dots: "f32", starts: "u32", ends: "u32" } as const),
    },
    writes: { dkv: element },
    code: `${COMMON}${[qkvReader, dyReader].map((read) => read(size)).join("")}${writer("dkv", "p.toRow", size)}
${MAIN}
  let k0 = id.y * ${TILE}u;
  let last = min(k0 + ${TILE - 1}u, batch.x - 1u);
  let queries = vec2u(k0, min(ends[last], last + p.window));
  let key = k0 + l.y * 4u;
${declareSums("dk", size)}
${declareSums("dv", size)}
  var q0 = queries.x;${products[0]!.fetch}
  for (; q0 < queries.y; q0 += ${TILE}u) {
    let query = four(q0 + l.x * 4u);
    let firstKeys = vec4u(${four((j) => `firstKey(query[${j}])`).join(", ")});
    let logSum = ${ofRows((j) => `logSums[ofQuery(head, query[${j}])]`)};
    let dot4 = ${ofRows((j) => `dots[ofQuery(head, query[${j}])]`)};
    var weights = mat4x4f();
    var slopes = mat4x4f();${inTurn(products, sums[0]!.fetch)}${gradients(
      (row) => `(vec4u(key + ${row}u) <= query) & (vec4u(key + ${row}u) >= firstKeys)`,
      () => "logSum",
      () => "dot4",
    )}${inTurn(sums, fetchScores(K, nextTile(Q)))}
  }
${writeSums({ first: "k0", from: "p.kTo + head * p.headDim", value: (column, row) => `dk${column}[${row}]` }, size)}
${writeSums({ first: "k0", from: "p.vTo + head * p.headDim", value: (column, row) => `dv${column}[${row}]` }, size)}
}`,
  });
};
