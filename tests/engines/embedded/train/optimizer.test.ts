import { numpy as np } from "@jax-js/jax";
import { beforeAll, expect, test } from "vitest";
import { startBackend } from "../../../../engines/embedded/model/backend.ts";
import { adamw, stepScalars, zeroMoments } from "../../../../engines/embedded/train/optimizer.ts";
import { learningRate } from "../../../../engines/embedded/train/schedule.ts";

beforeAll(startBackend);

const SCHEDULE = { peak: 1, warmupSteps: 10, maxSteps: 110 };

test("the learning rate rises in a line, then falls in a cosine to a tenth", () => {
  expect(learningRate(1, SCHEDULE)).toBeCloseTo(0.1);
  expect(learningRate(5, SCHEDULE)).toBeCloseTo(0.5);
  expect(learningRate(10, SCHEDULE)).toBeCloseTo(1);
  expect(learningRate(60, SCHEDULE)).toBeCloseTo(0.55);
  expect(learningRate(110, SCHEDULE)).toBeCloseTo(0.1);
});

test("a run without warm-up, or shorter than it, has a learning rate above 0 in each step", () => {
  expect(learningRate(1, { peak: 1, warmupSteps: 0, maxSteps: 1 })).toBeCloseTo(0.1);
  expect(learningRate(3, { peak: 1, warmupSteps: 100, maxSteps: 3 })).toBeCloseTo(0.03);
});

/** AdamW from its paper, for one number. */
function reference(p: number, gradients: number[], rate: number, decay: number): number {
  let m = 0;
  let v = 0;
  gradients.forEach((g, i) => {
    m = 0.9 * m + 0.1 * g;
    v = 0.95 * v + 0.05 * g * g;
    const direction = m / (1 - 0.9 ** (i + 1)) / (Math.sqrt(v / (1 - 0.95 ** (i + 1))) + 1e-8);
    p -= rate * (direction + decay * p);
  });
  return p;
}

test("AdamW follows its formula: matrices decay, norms do not", () => {
  let params = { matrix: np.array([[2]]), norm: np.array([2]) };
  let moments = zeroMoments(params);
  const gradients = [0.5, -0.25, 1];
  gradients.forEach((g, i) => {
    const g2 = { matrix: np.array([[g]]), norm: np.array([g]) };
    const next = adamw(params, g2, moments, stepScalars(i + 1, 0.1), {
      weightDecay: 0.2,
      maxGradNorm: 100,
    });
    params = next.params as typeof params;
    moments = next.moments;
  });
  expect(params.matrix.item()).toBeCloseTo(reference(2, gradients, 0.1, 0.2), 5);
  expect(params.norm.item()).toBeCloseTo(reference(2, gradients, 0.1, 0), 5);
});

test("gradients are scaled down to the norm they may have, all by the same factor", () => {
  const params = { a: np.array([0, 0]), b: np.array([0]) };
  const gradients = { a: np.array([3, 0]), b: np.array([4]) };
  const clipped = adamw(params, gradients, zeroMoments(params), stepScalars(1, 0.1), {
    weightDecay: 0,
    maxGradNorm: 1,
  });
  expect(clipped.gradNorm.item()).toBeCloseTo(5);
  // The first running mean after one step is a tenth of the gradient as it was used.
  const first = (name: string) => (clipped.moments.first[name]?.slice(0).item() ?? 0) * 10;
  expect([first("a"), first("b")]).toEqual([expect.closeTo(0.6, 5), expect.closeTo(0.8, 5)]);
});
