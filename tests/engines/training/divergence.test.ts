import { expect, test } from "vitest";
import { assertFinite } from "../../../engines/training/train.ts";

test.each([
  [{ loss: NaN, gradNorm: NaN }, "the loss is not finite"],
  [{ loss: 1, gradNorm: Infinity }, "the gradient norm is not finite"],
  [{ weights: { a: tensorOf(1, 0), b: tensorOf(1, -Infinity, 2) } }, "the weights are not finite"],
])("%o: %s", (result, what) => {
  expect(() => assertFinite(7, result, 0.03)).toThrow(
    `Training diverged at step 7: ${what}, with a learningRate of 0.03. Try a learningRate of 0.003 or less, or more warmupSteps.`,
  );
});

test("finite weights pass, however large their sum", () => {
  expect(() => assertFinite(7, { weights: { a: tensorOf(3e38, 3e38, -1) } }, 0.03)).not.toThrow();
});

function tensorOf(...data: number[]) {
  return { shape: [data.length], data: Float32Array.from(data) };
}
