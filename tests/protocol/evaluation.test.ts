import { expect, test } from "vitest";
import { bestOf, isLower } from "../../protocol/evaluation.ts";

test("the best has the lowest finite evalLoss, and is the first of equals", () => {
  const logs = [NaN, null, undefined, 2, 1, -Infinity, 1, Infinity].map((evalLoss, step) => ({
    step,
    evalLoss,
  }));
  expect(bestOf(logs)?.step).toBe(4);
  expect(bestOf(logs.slice(0, 3))).toBeUndefined();
});

test.each([
  [1, undefined, true],
  [1, 2, true],
  [2, 2, false],
  [NaN, undefined, false],
  [null, undefined, false],
])("evalLoss %s after a best of %s: lower is %s", (evalLoss, best, lower) => {
  expect(isLower(evalLoss, best)).toBe(lower);
});
