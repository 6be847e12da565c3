import { expect, test } from "vitest";
import { heldOutRows } from "../../../engines/dataset/heldOut.ts";

function chosen(rows: number, share: number, seed: number): number[] {
  return [...heldOutRows(rows, share, seed)].flatMap((mark, row) => (mark === 1 ? [row] : []));
}

test.each([
  [10, 0.2, 2],
  [10, 0.001, 1],
  [10, 0.999, 9],
  [2, 0.5, 1],
  [1001, 0.25, 250],
])("of %d rows, a share of %d are %d, at least one on each side", (rows, share, count) => {
  for (let seed = 0; seed < 20; seed++) expect(chosen(rows, share, seed)).toHaveLength(count);
});

test("the seed decides which, and each row is as likely as the others", () => {
  expect(chosen(100, 0.1, 1)).toEqual(chosen(100, 0.1, 1));
  expect(chosen(100, 0.1, 1)).not.toEqual(chosen(100, 0.1, 2));
  const counts = new Array<number>(10).fill(0);
  for (let seed = 0; seed < 2000; seed++) {
    for (const row of chosen(10, 0.3, seed)) counts[row] = (counts[row] ?? 0) + 1;
  }
  // 600 each; five standard deviations are 102.
  for (const count of counts) expect(Math.abs(count - 600)).toBeLessThan(102);
});

test("a single row cannot be on both sides", () => {
  expect(() => heldOutRows(1, 0.5, 1)).toThrow(
    "The dataset has a single row with something to learn, and evalSplit needs two. Add rows, or remove evalSplit.",
  );
});
