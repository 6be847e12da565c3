import { expect, it } from "vitest";
import { atLeast, atMost, moreAtMost, ratioAtLeast, ratioAtMost } from "../../bench/goals.ts";
import type { Measured, Row } from "../../bench/row.ts";
import { formatTable } from "../../bench/table.ts";

const ROW: Row = {
  number: 4,
  work: "a list",
  baseline: "a bare server",
  measure: () => Promise.resolve([]),
};

/** The cells of a row's only line. */
function cellsOf(line: Measured, row = ROW): string[] {
  return linesOf(formatTable([{ row, lines: [line] }]))[2] ?? [];
}

function linesOf(table: string): string[][] {
  return table.split("\n").map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

it("a line has both figures with three digits, their ratio and what the goal asks", () => {
  const line: Measured = { ours: 4.4912, baseline: 2.6741, unit: "ms", goal: ratioAtMost(1.8) };
  expect(cellsOf(line)).toEqual([
    "4",
    "a list",
    "4.49 ms",
    "2.67 ms",
    "a bare server",
    "1.68",
    "≤ 1.8 ×",
    "✓",
  ]);
});

it("the columns are as wide as their contents", () => {
  const lines: Measured[] = [{ part: "a long name of a part", ours: 1, unit: "ms" }];
  const widths = formatTable([{ row: ROW, lines }])
    .split("\n")
    .map((line) => line.length);
  expect(new Set(widths).size).toBe(1);
});

it.each([
  [atMost(100), "≤ 100 MB"],
  [moreAtMost(2000), "≤ 2,000 MB more"],
  [ratioAtLeast(0.5), "≥ 0.5 ×"],
])("a goal that is a figure has the line's unit: %#", (goal, text) => {
  expect(cellsOf({ ours: 1, baseline: 1, unit: "MB", goal })[6]).toBe(text);
});

it.each([
  { goal: atMost(100), met: [100, 200], missed: [101, 200] },
  { goal: atLeast(100), met: [100, 200], missed: [99, 1] },
  { goal: moreAtMost(10), met: [110, 100], missed: [111, 100] },
  { goal: ratioAtMost(1.5), met: [15, 10], missed: [16, 10] },
  { goal: ratioAtLeast(0.5), met: [5, 10], missed: [4, 10] },
])("a goal is met at its limit, and a word marks a missed one: %#", (example) => {
  const mark = ([ours = NaN, baseline]: number[]) =>
    cellsOf({ ours, baseline, unit: "ms", goal: example.goal })[7];
  expect([mark(example.met), mark(example.missed)]).toEqual(["✓", "✗ missed"]);
});

it("there is no ratio to nothing, and no mark without a goal", () => {
  expect(cellsOf({ ours: 0, baseline: 0, unit: "ms" }).slice(5)).toEqual(["", "", ""]);
  expect(cellsOf({ ours: 3, baseline: 0, unit: "ms" })[5]).toBe("");
});

it("a line without a baseline says nothing of one", () => {
  expect(cellsOf({ ours: 3, unit: "" }).slice(2, 6)).toEqual(["3", "–", "", ""]);
});

it("tells a figure of one run from a median, and a baseline of the line's own", () => {
  const line: Measured = { ours: 3, baseline: 2, unit: "MB", part: "heap" };
  const cells = cellsOf({ ...line, oneRunOf: "60 s", against: "at first" });
  expect([cells[1], cells[4]]).toEqual(["a list: heap (one run of 60 s)", "at first"]);
});

it("a row that failed says why, in one line, and the others are there", () => {
  const failed = { row: ROW, lines: [], error: "it broke\n  in two" };
  const table = formatTable([failed, { row: ROW, lines: [{ ours: 1, unit: "" }] }]);
  const [, , first, second] = linesOf(table);
  expect(first).toEqual(["4", "a list", "failed: it broke in two", "", "", "", "", "✗ failed"]);
  expect(second?.[2]).toBe("1");
});
