import { expect, test } from "vitest";
import type * as source from "../../../../engines/embedded/step/optimizer.ts";
import { builtModule } from "../built.ts";
import { arena, kernelsOn } from "../kernels/arena.ts";

const { createOptimizer } = await builtModule<typeof source>("step/optimizer.js");

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

/** Groups of numbers that are optimized together on this thread. */
function optimizing(
  groups: { values: number[]; decays: boolean }[],
  weightDecay: number,
  maxGradNorm: number,
) {
  const memory = arena();
  const place = (values: number[]) => memory.floats(Float32Array.from(values));
  const like = () =>
    groups.map(({ values, decays }) => ({ ...place(values.map(() => 0)), decays }));
  const weights = groups.map(({ values, decays }) => ({ ...place(values), decays }));
  const [gradients, firstMoments, secondMoments] = [like(), like(), like()];
  const partials = memory.bytes(groups.length * 8);
  const kernels = kernelsOn(memory);
  const thread = { kernels, memory: memory.memory, threadIndex: 0, count: () => 1 };
  const placed = groups.map(({ values, decays }, i) => ({
    count: values.length,
    decays,
    weights: weights[i]!.at,
    gradients: gradients[i]!.at,
    firstMoments: firstMoments[i]!.at,
    secondMoments: secondMoments[i]!.at,
  }));
  const options = { weightDecay, maxGradNorm };
  const { norm, update } = createOptimizer(thread, placed, partials, options);
  const optimize = (step: number, rate: number) => {
    const before = norm();
    update(step, rate, before);
    return before;
  };
  return { weights, gradients, firstMoments, optimize };
}

test("AdamW follows its formula: matrices decay, norms do not", () => {
  const { weights, gradients, optimize } = optimizing(
    [
      { values: [2], decays: true },
      { values: [2], decays: false },
    ],
    0.2,
    100,
  );
  const steps = [0.5, -0.25, 1];
  steps.forEach((g, i) => {
    for (const { view } of gradients) view[0] = g;
    optimize(i + 1, 0.1);
  });
  expect(weights[0]?.view[0]).toBeCloseTo(reference(2, steps, 0.1, 0.2), 5);
  expect(weights[1]?.view[0]).toBeCloseTo(reference(2, steps, 0.1, 0), 5);
});

test("gradients are scaled down to the norm they may have, all by the same factor", () => {
  const { gradients, firstMoments, optimize } = optimizing(
    [
      { values: [0, 0], decays: true },
      { values: [0], decays: true },
    ],
    0,
    1,
  );
  gradients[0]?.view.set([3, 0]);
  gradients[1]?.view.set([4]);
  expect(optimize(1, 0.1)).toBeCloseTo(5);
  // The first running mean after one step is a tenth of the gradient as it was used.
  const first = firstMoments.map(({ view }) => (view[0] ?? 0) * 10);
  expect(first).toEqual([expect.closeTo(0.6, 5), expect.closeTo(0.8, 5)]);
});
