import { expect, it } from "vitest";
import { lossTicks, stepTicks } from "../../../src/job/ticks.ts";

const labels = (ticks: { label: string }[]) => ticks.map(({ label }) => label).join(" ");

it.each([
  [0.3509, 5.824, "1 2 3 4 5"],
  [0.69, 0.6932, "0.690 0.691 0.692 0.693"],
  [-1.2, 0.4, "-1.0 -0.5 0"],
  [-0.3, 0.3, "-0.2 0 0.2"],
  [0, 12_345_678, "0 2e+6 4e+6 6e+6 8e+6 1.0e+7 1.2e+7"],
  [1e-9, 3e-9, "1.0e-9 1.5e-9 2.0e-9 2.5e-9 3.0e-9"],
  // One value, labels too long, no power of ten, an infinite range.
  [2, 2, ""],
  [0.693147, 0.693149, ""],
  [5e-324, 1e-323, ""],
  [-1.7e308, 1.7e308, ""],
])("losses from %d to %d have the ticks %s", (min, max, expected) => {
  expect(labels(lossTicks({ min, max }))).toBe(expected);
});

it.each([
  [1, 230, "50 100 150 200"],
  [1, 2, "1 2"],
  [7, 7, "7"],
  [9, 1_000, "200 400 600 800 1,000"],
  [0, 123_456, "0 20k 40k 60k 80k 100k 120k"],
  [0, 40_000_000, "0 10M 20M 30M 40M"],
])("steps from %d to %d have the ticks %s", (min, max, expected) => {
  expect(labels(stepTicks({ min, max }))).toBe(expected);
});

it("places a tick by its share of the range", () => {
  expect(lossTicks({ min: 1, max: 5 }).map(({ at }) => at)).toEqual([0, 0.25, 0.5, 0.75, 1]);
});
