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
  ["an hour for a step of minutes", HOUR_MS + 200_000, 200_000, HOUR_MS],
  ["no step to compare with", HOUR_MS, Infinity, 0],
])("%s", (_, elapsed, usual, expected) => {
  expect(asleepMs(elapsed, usual)).toBe(expected);
});

/** The seconds left of 100 steps after spans of one step each. */
function leftAfter(spans: readonly number[], evaluatedSteps: readonly number[] = []) {
  let progress = NO_PROGRESS;
  let at = 0;
  for (const [n, seconds] of [0, ...spans].entries()) {
    at += seconds * 1_000;
    const data = { step: n + 1, ...(evaluatedSteps.includes(n + 1) && { evalLoss: 1 }) };
    progress = reduceProgress(progress, { event: "training.log", data, at });
  }
  return secondsLeft(progress.first, progress.last, 100);
}

const HOUR = 3_600;

test.each<[string, number, number[], number[]?]>([
  ["no sleep", 576, [6, 6, 6]],
  ["each log with an evaluation", 576, [6, 6, HOUR + 6], [1, 2, 3, 4]],
  ["between the first two logs", 576, [HOUR + 6, 6, 6]],
  ["logs of 200 s", 19_200, [200, 200, HOUR + 200]],
  ["twice", 570, [6, HOUR + 6, 6, HOUR + 6]],
  ["in the second evaluation", 950, [6, 14, 6, HOUR + 14], [3, 5]],
  ["in the first evaluation, once there is another", 950, [6, HOUR + 14, 6, 14], [3, 5]],
])("the time left doesn't count a sleep: %s", (_, left, spans, evaluatedSteps) => {
  expect(leftAfter(spans, evaluatedSteps)).toBeCloseTo(left);
});

test.each<[string, number, number[], number[]?]>([
  ["a first evaluation", 14_841, [6, 300], [3]],
  ["logs that became slow", 7_896, [10, 10, 100, 100, 200]],
])("the time left counts %s", (_, left, spans, evaluatedSteps) => {
  expect(leftAfter(spans, evaluatedSteps)).toBeCloseTo(left);
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
