import { expect, test } from "vitest";
import { learningRate, stepCount } from "../../../engines/training/schedule.ts";

const CONFIG = { learningRate: 1, warmupSteps: 10, lrSchedulerType: "cosine" } as const;

function rates(config: Partial<Parameters<typeof learningRate>[2]>, steps: number, at: number[]) {
  return at.map((step) => learningRate(step, steps, { ...CONFIG, ...config }));
}

function near(values: number[]): unknown {
  return values.map((value) => expect.closeTo(value, 10) as number);
}

test("the learning rate rises in a line, then falls in a cosine to a tenth", () => {
  expect(rates({}, 110, [1, 5, 10, 60, 110])).toEqual(near([0.1, 0.5, 1, 0.55, 0.1]));
});

test("or in a line, which is 0 after the last step, or stays", () => {
  const linear = { lrSchedulerType: "linear" } as const;
  expect(rates(linear, 110, [5, 10, 60, 110, 111])).toEqual(near([0.5, 1, 51 / 101, 1 / 101, 0]));
  // Without a warm-up, the rates of transformers' get_linear_schedule_with_warmup.
  expect(rates({ ...linear, warmupSteps: 0 }, 4, [1, 2, 3, 4])).toEqual([1, 0.75, 0.5, 0.25]);
  const constant = { lrSchedulerType: "constant" } as const;
  expect(rates(constant, 110, [5, 10, 60, 110])).toEqual([0.5, 1, 1, 1]);
});

test("warmupSteps below 1 is a share of all steps", () => {
  const at = [1, 5, 11, 12, 60, 110];
  expect(rates({ warmupSteps: 0.1 }, 110, at)).toEqual(rates({ warmupSteps: 11 }, 110, at));
  // Up to a whole step.
  expect(rates({ warmupSteps: 0.095 }, 110, at)).toEqual(rates({ warmupSteps: 11 }, 110, at));
});

test.each(["cosine", "linear", "constant"] as const)(
  "a run without warm-up, or shorter than it, has a learning rate above 0 in each step: %s",
  (lrSchedulerType) => {
    expect(rates({ lrSchedulerType, warmupSteps: 0 }, 1, [1])[0]).toBeGreaterThan(0);
    expect(rates({ lrSchedulerType, warmupSteps: 100 }, 3, [3])).toEqual(near([0.03]));
  },
);

test.each([
  [{ maxSteps: 7, numTrainEpochs: undefined }, 7],
  [{ maxSteps: undefined, numTrainEpochs: 1 }, 13],
  [{ maxSteps: undefined, numTrainEpochs: 2.5 }, 32],
  [{ maxSteps: undefined, numTrainEpochs: 0.001 }, 1],
])("how many steps %j are over 100 rows, 2 × 4 a step", (length, steps) => {
  expect(stepCount({ ...length, batchSize: 4, gradientAccumulationSteps: 2 }, 100)).toBe(steps);
});
