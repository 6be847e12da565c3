import { expect, it } from "vitest";
import { comparisonLines } from "../../../cli/eval/comparisonLines.ts";

const LONG = `{"description":"${"a text ".repeat(40)}","minutes":`;

it("shows of long texts the part that differs from what is expected", () => {
  const [expected, before, after] = [`${LONG}30}`, `${LONG}45}`, `${LONG}30}`];
  const row = { row: { prompt: "q", completion: expected }, input: "q", expected };
  const lines = comparisonLines({
    figures: [],
    changed: [
      { input: "q", expected, before, after, change: 1 },
      { input: "r", expected: "yes", before: "no", after: "yes", change: 1 },
    ],
    wrong: [{ ...row, answer: before }],
  });
  const part = (minutes: number) => `… a text ","minutes":${minutes}}`;
  expect(lines.slice(2)).toEqual([
    "2 rows changed: 0 worse, 2 better",
    "better    q",
    ...[`  expected ${part(30)}`, `  before   ${part(45)}`, `  after    ${part(30)}`],
    "better    r",
    ...["  expected yes", "  before   no", "  after    yes"],
    "",
    "1 row is wrong",
    ...["wrong     q", `  expected ${part(30)}`, `  answer   ${part(45)}`],
  ]);
});

it("shows a row that got worse once", () => {
  const [input, expected, answer] = ["q", "yes", "no"];
  const lines = comparisonLines({
    figures: [],
    changed: [{ input, expected, before: "yes", after: answer, change: -1 }],
    wrong: [{ row: { prompt: input, completion: expected }, input, expected, answer }],
  });
  expect(lines.slice(-4)).toEqual([
    "  before   yes",
    "  after    no",
    "",
    "1 row is wrong, shown above",
  ]);
});
