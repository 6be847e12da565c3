import { expect, test } from "vitest";
import { progressOf, trainerState } from "../../../engines/checkpoint/trainerState.ts";
import type { TrainConfig } from "../../../protocol/trainConfig.ts";

const PENDING = { losses: [0.5], metrics: { accuracy: { sum: 1, count: 2 } } };
const PLACE = { step: 1, maxSteps: 1, epoch: 1, epochs: 1, tokens: 1, pending: PENDING };

const logsOf = (count: number) =>
  Array.from({ length: count }, (_, i) => {
    const log = { step: i + 1, epoch: i / count, loss: 1 / (i + 1), learningRate: 1, gradNorm: 2 };
    return i % 2 === 0 ? log : { ...log, evalLoss: 3 / (i + 1), metrics: { evalAccuracy: 0.5 } };
  });

test("the logs of a state are those that it was made of", () => {
  const logs = logsOf(9);
  const state = trainerState({} as TrainConfig, logs, PLACE);
  expect(progressOf(state)).toEqual({ step: 1, tokens: 1, pending: PENDING, logs });
});

test("reads each entry of a long history a few times, however many there are", () => {
  const state = trainerState({} as TrainConfig, logsOf(2_000), PLACE);
  let reads = 0;
  const watched = state.log_history.map(
    (entry) => new Proxy(entry, { get: (...asked) => (reads++, Reflect.get(...asked) as unknown) }),
  );
  progressOf({ ...state, log_history: watched });
  expect(reads / watched.length).toBeLessThan(20);
});
