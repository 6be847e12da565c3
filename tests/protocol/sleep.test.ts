import { expect, test } from "vitest";
import { createStepLog } from "../../engines/training/stepLog.ts";
import { NO_PROGRESS, reduceProgress, secondsLeft } from "../../protocol/progress.ts";
import { asleepMs } from "../../protocol/sleep.ts";
import { createAnswerProgress } from "../../sdk/metrics/answerProgress.ts";

const HOUR_MS = 3_600_000;

test.each([
  ["an hour for a step of a second", HOUR_MS, 1_000, HOUR_MS - 1_000],
  ["a busy machine", 25_000, 1_000, 0],
  ["steps that take long", 600_000, 400_000, 0],
  ["no step to compare with", HOUR_MS, Infinity, 0],
])("%s", (_, elapsed, usual, expected) => {
  expect(asleepMs(elapsed, usual)).toBe(expected);
});

test("the time left doesn't count a sleep, but does count evaluations", () => {
  const at = (seconds: number, data: object) => ({
    event: "training.log",
    data,
    at: seconds * 1e3,
  });
  const left = (...events: ReturnType<typeof at>[]) => {
    const { first, last } = events.reduce(reduceProgress, NO_PROGRESS);
    return secondsLeft(first, last, 100);
  };
  const steps = [0, 10, 20].map((step) => at(step, { step }));
  expect(left(...steps)).toBe(80);
  expect(left(...steps, at(3_630, { step: 30 }))).toBe(70);
  expect(left(...steps, at(630, { step: 30, evalLoss: 1 }))).toBe(1_470);
});

test("the speed doesn't count a sleep", () => {
  let now = 0;
  const log = createStepLog(undefined, () => now);
  for (const ms of [1_000, 1_000, HOUR_MS, 1_000]) {
    now += ms;
    log.add({ loss: 1, gradNorm: 1, tokens: 500, metrics: {} });
  }
  const context = { step: 4, learningRate: 1, epoch: 1, evaluated: undefined };
  expect(log.log(context).tokensPerSecond).toBe(500);
});

test("the time left of an evaluation doesn't count a sleep", () => {
  let now = 0;
  const progress = createAnswerProgress(
    100,
    () => {},
    () => now,
  );
  for (let row = 1; row <= 50; row++) {
    now += row === 40 ? HOUR_MS : 1_000;
    progress.show(row);
  }
  expect(progress.text()).toMatch(/^50 of 100, 1m /);
});
