/** Rows of a tile; each thread of 16 × 16 computes 4 × 4 of the scores of two tiles. */
export const TILE = 64;

/** Rows of a head in an array, from `first` on. */
export interface Rows {
  array: string;
  /** WGSL of the first row's token. */
  first: string;
  /** WGSL of the head's first column. */
  from: string;
}

/** What a kernel's text depends on; its parameters hold the exact size of a head. */
export interface HeadSize {
  /** Vectors of four in a row of sums, of each thread. */
  columns: number;
  /** Whether every row is of vectors of four. */
  isAligned: boolean;
  /** Whether every product is of `LINES` lines. */
  isWhole: boolean;
}

/** The index of each of `columns`. */
export const columnsOf = ({ columns }: HeadSize) => Array.from({ length: columns }, (_, n) => n);

export const MAX_HEAD_DIM = 256;

export function headSize(headDim: number): HeadSize {
  if (headDim > MAX_HEAD_DIM) throw new Error(`a head of ${headDim} is too large`);
  const columns = Math.ceil(headDim / TILE);
  return { columns, isAligned: headDim % 4 === 0, isWhole: headDim % LINES === 0 };
}

/**
 * Lines of the operands of a product that are in a workgroup's memory at a time: both fill the 16 KiB that every GPU
 * has.
 */
const LINES = 32;

export const four = <T>(each: (j: number) => T) => Array.from({ length: 4 }, (_, j) => each(j));

/**
 * A product's operands: 8 × 4 lines of 16 vectors of the left one, then of the right one. A line's vectors are in an
 * order of its own, so that threads that write to adjacent lines write to different banks.
 */
export const OPERANDS = `
var<workgroup> operands: array<array<array<vec4f, 16>, 4>, 16>;
`;

/** WGSL: reads four columns of a token's row, as zeros beyond the batch or the head, without a branch. */
export const reader = (array: string, row: string, { isAligned }: HeadSize) => `
fn ${array}4(token: u32, start: u32, d: u32) -> vec4f {
  let isInside = (token < batch.x) & (d < p.headDim);
  let at = select(0u, token * ${row} + start + d, isInside);
  ${
    isAligned
      ? `return select(vec4f(0.0), ${array}[at / 4u], isInside);`
      : `let last = select(0u, p.headDim - 1u - d, isInside);
  return vec4f(${four((j) => `select(0.0, ${array}[at + min(${j}u, last)], isInside & (${j}u <= last))`).join(", ")});`
  }
}
`;

/** WGSL: writes four columns of a token's row. */
export const writer = (array: string, row: string, { isAligned }: HeadSize) => `
fn write4(token: u32, start: u32, d: u32, value: vec4f) {
  if (token >= batch.x || d >= p.headDim) { return; }
  let at = token * ${row} + start + d;
  ${
    isAligned
      ? `${array}[at / 4u] = value;`
      : four((j) => `if (d + ${j}u < p.headDim) { ${array}[at + ${j}u] = value[${j}]; }`).join(
          "\n  ",
        )
  }
}
`;

/** WGSL: combines a vector of each of the 16 threads of a row of threads. */
export const combine = (value: string, combined: (value: string) => string) => `
    workgroupBarrier();
    operands[l.y][0][l.x] = ${value};
    workgroupBarrier();
    ${value} = operands[l.y][0][0];
    for (var x = 1u; x < 16u; x++) { ${value} = ${combined("operands[l.y][0][x]")}; }`;

/** A product that a kernel computes after another. */
export interface Product {
  /** WGSL: reads what its first lines need into registers. */
  fetch: string;
  /** WGSL: adds the product to sums. @param next reads what the next product needs, while this one is computed */
  add: (next: string) => string;
}

/** Adds the product of the operands in memory to 4 × 4 sums. */
const multiply = (sums: string, lines: string) => `
      for (var g = 0u; g * 4u < ${lines}; g++) {
        let y = l.y ^ g;
        let x = l.x ^ g;${four(
          (j) => `
        {
          let left = operands[g][${j}][y];
          let right = operands[g + 8u][${j}][x];
${four((r) => `          ${sums}[${r}] = fma(vec4f(left[${r}]), right, ${sums}[${r}]);`).join("\n")}
        }`,
        ).join("")}
      }`;

const row4 = ({ array, first, from }: Rows, row: string, d: string) =>
  `${array}4(${first} + ${row}, ${from}, ${d})`;

/** WGSL: reads what the first lines of two tiles' scores need. @param d0 the first column of the lines */
export function fetchScores(left: Rows, right: Rows, d0 = "0u"): string {
  const block = (rows: Rows) =>
    `mat4x4f(${four((j) => row4(rows, `row + ${j}u`, "d")).join(", ")})`;
  const either = (of: (rows: Rows) => string) => `select(${of(right)}, ${of(left)}, i < 128u)`;
  // A thread reads a block of four rows × four columns of one operand.
  const read =
    left.array === right.array
      ? `next = ${block({ array: left.array, first: either(({ first }) => first), from: either(({ from }) => from) })};`
      : `if (i < 128u) { next = ${block(left)}; } else { next = ${block(right)}; }`;
  return `
      {
        let row = i / 8u % 16u * 4u;
        let d = ${d0} + i % 8u * 4u;
        ${read}
      }`;
}

/** The products of rows of two tiles: 4 × 4 of each thread, by left row. */
export function scores(
  { sums, left, right }: { sums: string; left: Rows; right: Rows },
  { isWhole }: HeadSize,
): Product {
  return {
    fetch: fetchScores(left, right),
    add: (after) => `
    for (var d0 = 0u; d0 < p.headDim; d0 += ${LINES}u) {
      workgroupBarrier();
      {
        let lines = transpose(next);
        let g = i % 8u;
        let x = (i / 8u % 16u) ^ g;
${four((j) => `        operands[i / 128u * 8u + g][${j}][x] = lines[${j}];`).join("\n")}
      }
      workgroupBarrier();
      if (d0 + ${LINES}u < p.headDim) {${fetchScores(left, right, `d0 + ${LINES}u`)}
      } else {${after}
      }${multiply(sums, isWhole ? `${LINES}u` : `min(${LINES}u, p.headDim - d0)`)}
    }`,
  };
}

interface RowSums {
  /** WGSL of the sums, followed by the index of their columns. */
  sums: string;
  /** WGSL of a thread's scores of two tiles. */
  scores: string;
  /** The right tile's rows. */
  rows: Rows;
  /** WGSL of the token after the last that counts. */
  end: string;
}

/** The sums of the right tile's rows, weighted by each left row's scores: four rows × `columns` fours of each thread. */
export function rowSums(
  { sums, scores, rows, end }: RowSums,
  { columns, isWhole }: HeadSize,
): Product {
  const fetch = (step: string) => `
      {
        let row = ${step} / ${columns}u * ${LINES}u + i / 16u;
        let d = ${step} % ${columns}u * ${TILE}u + i % 16u * 4u;
        next[0] = ${row4(rows, "row", "d")};
        next[1] = ${row4(rows, "row + 16u", "d")};
      }`;
  return {
    fetch: fetch("0u"),
    add: (after) => `
    for (var step = 0u; step < ${2 * columns}u; step++) {
      workgroupBarrier();
      let half = step / ${columns}u;
      if (step % ${columns}u == 0u && l.x / 8u == half) {${storeHalf(scores)}
      }
      operands[i / 64u + 8u][i / 16u % 4u][(i % 16u) ^ (i / 64u)] = next[0];
      operands[i / 64u + 12u][i / 16u % 4u][(i % 16u) ^ (i / 64u + 4u)] = next[1];
      workgroupBarrier();
      if (step + 1u < ${2 * columns}u) {${fetch("(step + 1u)")}
      } else {${after}
      }
      let first = ${rows.first} + half * ${LINES}u;${multiply(`${sums}0`, isWhole ? `${LINES}u` : `min(${LINES}u, max(${end}, first) - first)`)}
${rotate(sums, columns)}
    }`,
  };
}

/** Makes the next column's sums the first ones: an index that varies would put them into memory. */
function rotate(sums: string, columns: number): string {
  if (columns === 1) return "";
  const all = Array.from({ length: columns }, (_, column) => `${sums}${column}`);
  const moves = all.map((to, column) => `      ${to} = ${all[column + 1] ?? "rotated"};`);
  return [`      let rotated = ${sums}0;`, ...moves].join("\n");
}

/** Makes half of a tile of scores the left operand, with a line for each row of the right tile. */
const storeHalf = (scores: string) => `
        let lines = transpose(${scores});
        let g = l.x % 8u;
${four((j) => `        operands[g][${j}][l.y ^ g] = lines[${j}];`).join("\n")}`;

/** WGSL: sums of `columns` × 4 × 4. */
export const declareSums = (sums: string, size: HeadSize) =>
  columnsOf(size)
    .map((column) => `  var ${sums}${column} = mat4x4f();`)
    .join("\n");

/** WGSL: writes a thread's sums into rows. */
export const writeSums = (
  { first, from, value }: Omit<Rows, "array"> & { value: (column: number, row: number) => string },
  size: HeadSize,
) =>
  columnsOf(size)
    .map((column) =>
      four(
        (row) =>
          `  write4(${first} + l.y * 4u + ${row}u, ${from}, ${column * TILE}u + l.x * 4u, ${value(column, row)});`,
      ).join("\n"),
    )
    .join("\n");
