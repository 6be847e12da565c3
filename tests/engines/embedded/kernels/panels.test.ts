import { expect, test } from "vitest";
import { createRandom } from "../../../../engines/dataset/random.ts";
import { type Call, type Team, THREADS, bytesOf, difference, numbers, team } from "./team.ts";

const PANEL = 8;
/** Rows of x: a token, tiles that are not full, and enough for panels to be widened once. */
const ROWS = [1, 2, 3, 5, 6, 7, 13, 33];
const OUTS = [1, 8, 9, 27, 33, 64, 131];
const WIDTHS = [1, 3, 65, 1300];

/** A matrix [out, width], which `makePanels` has turned; of bfloat16 if `isBf16`. */
function matrixOf(t: Team, out: number, width: number, isBf16: boolean, seed: number) {
  const rows = Math.ceil(out / PANEL) * PANEL;
  const wide = numbers(rows * width, seed);
  const words = new Uint32Array(wide.buffer);
  if (isBf16) words.forEach((word, i) => (words[i] = word & 0xffff0000));
  const { at } = t.floats(new Float32Array((rows * width) / (isBf16 ? 2 : 1)));
  const to = t.memory.buffer;
  if (isBf16) new Uint16Array(to, at, wide.length).set(words.map((word) => word >>> 16));
  else new Float32Array(to, at, wide.length).set(wide);
  const scratch = t.floats(new Float32Array(PANEL * width)).at;
  t.run(1, [["makePanels", rows, width, at, Number(isBf16), scratch]]);
  return { at, out, width, isBf16: Number(isBf16), view: wide };
}

type PanelMatrix = ReturnType<typeof matrixOf>;

/** added + x·Wᵀ in float64. */
function plain(
  { view, out, width }: PanelMatrix,
  rows: number,
  x: Float32Array,
  added?: Float32Array,
) {
  return Float64Array.from({ length: rows * out }, (_, i) => {
    const [r, o] = [Math.floor(i / out), i % out];
    let sum = added?.[i] ?? 0;
    for (let k = 0; k < width; k++) sum += (x[r * width + k] ?? NaN) * (view[o * width + k] ?? NaN);
    return sum;
  });
}

/** Rows one after another, and as they lie `apart` numbers from one another, with NaN between them. */
function spread(rows: Float32Array, width: number, apart: number): Float32Array {
  const count = rows.length / width;
  const lying = new Float32Array(count * apart).fill(NaN);
  for (let r = 0; r < count; r++) lying.set(rows.subarray(r * width, (r + 1) * width), r * apart);
  return lying;
}

/** Products of all counts of rows of x: each beside a plain loop, and to the bit as alone and on one thread. */
function check(t: Team, w: PanelMatrix, share: number) {
  const most = Math.max(...ROWS);
  const [xRow, yRow] = [w.width + 4, w.out + 3];
  const [rows, terms] = [numbers(most * w.width, 5), numbers(most * w.out, 6)];
  const x = t.floats(spread(rows, w.width, xRow));
  const added = t.floats(spread(terms, w.out, yRow));
  const y = t.floats(new Float32Array(most * yRow));
  const product = (from: number, count: number, more: number): Call => [
    ...(["panelProduct", count, w.out, w.width, w.at, w.isBf16, share] as const),
    ...[x.at + from * xRow * 4, xRow],
    ...[more && more + from * yRow * 4, y.at + from * yRow * 4, yRow],
  ];
  for (const more of [0, added.at]) {
    const alone = Array.from({ length: most }, (_, r) => [
      product(r, 1, more),
      ["barrier"] as Call,
    ]);
    y.view.fill(NaN);
    t.run(1, alone.flat());
    const single = y.view.slice();
    const made = single.filter((_, i) => i % yRow < w.out);
    const expected = plain(w, most, rows, more === 0 ? undefined : terms);
    expect(difference(made, expected)).toBeLessThan(2e-4);
    for (const [i, count] of ROWS.entries()) {
      y.view.fill(NaN);
      t.run(THREADS[i % THREADS.length] ?? 1, [product(0, count, more)]);
      // Nothing between the rows or behind them is written.
      const wanted = single.map((value, at) => (at < count * yRow ? value : NaN));
      expect(bytesOf(y.view), `${count} rows by ${w.out} × ${w.width}`).toBe(bytesOf(wanted));
    }
  }
}

test.each([false, true])(
  "a product by panels is that of a plain loop, each row as if it were alone, on any threads: bfloat16 %j",
  (isBf16) => {
    for (const width of WIDTHS) {
      const t = team();
      for (const out of OUTS) check(t, matrixOf(t, out, width, isBf16, 1), 4);
      expect(t.broken()).toBe(0);
    }
  },
);

test("so are those of forty random shapes, in any shares", () => {
  const random = createRandom(1, "shapes");
  const upTo = (most: number) => 1 + Math.floor(random.uniform() * most);
  const t = team();
  for (let i = 0; i < 40; i++) {
    check(t, matrixOf(t, upTo(150), upTo(90), i % 2 === 0, i), upTo(20));
  }
  expect(t.broken()).toBe(0);
});

test("what a product adds to may be where it is written", () => {
  const t = team();
  const w = matrixOf(t, 45, 1300, true, 1);
  const x = t.floats(numbers(9 * w.width, 2));
  const before = numbers(9 * w.out, 3);
  const y = t.floats(before);
  t.run(2, [
    ...([
      ["panelProduct", 9, w.out, w.width, w.at, 1, 4, x.at, w.width, y.at, y.at, w.out],
    ] as Call[]),
  ]);
  expect(difference(y.view, plain(w, 9, x.view, before))).toBeLessThan(2e-4);
});

test.each([false, true])("rows of a table in panels are its rows: bfloat16 %j", (isBf16) => {
  const t = team();
  const table = matrixOf(t, 21, 37, isBf16, 1);
  const ids = Int32Array.from([0, 20, 7, 8, 13, 7]);
  const at = t.floats(new Float32Array(ids.length)).at;
  new Int32Array(t.memory.buffer, at, ids.length).set(ids);
  const y = t.floats(new Float32Array(ids.length * 37));
  for (const threads of THREADS) {
    y.view.fill(0);
    t.run(threads, [["embedPanels", ids.length, 37, at, table.at, Number(isBf16), y.at]]);
    const wanted = [...ids].flatMap((id) => [...table.view.subarray(id * 37, (id + 1) * 37)]);
    expect([...y.view]).toEqual(wanted);
  }
  expect(t.broken()).toBe(0);
});
