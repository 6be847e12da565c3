import { expect, it } from "vitest";
import { createProgress } from "../../cli/progress.ts";
import type { EventData } from "../../protocol/event.ts";

function createTold({ maxSteps }: { maxSteps: number }) {
  let seconds = 0;
  const progress = createProgress({ directory: "d", now: () => seconds * 1000 });
  const at = (time: number) => {
    seconds = time;
    return {
      started: () =>
        progress.line({
          event: "training.started",
          data: { model: "kit/nano", parameters: 117_000, rows: 4000, maxSteps },
        }),
      log: (data: EventData["training.log"]) => progress.line({ event: "training.log", data }),
      end: (data: EventData["training.completed"]) =>
        progress.line({ event: "training.completed", data }),
      progress,
    };
  };
  at(0);
  return at;
}

it("says what begins", () => {
  const at = createTold({ maxSteps: 1000 });
  expect(at(0).started()).toBe("training kit/nano: 117,000 parameters, 4,000 rows, 1,000 steps");
});

it("estimates the time left from the first log on, so that compiling does not count", () => {
  const at = createTold({ maxSteps: 100 });
  at(0).started();
  const log = (step: number) => ({ step, loss: 1.23456, tokensPerSecond: 1234.5 });
  expect(at(60).log(log(1))).toBe("step   1/100  loss 1.2346    1235 tokens/s");
  expect(at(64).log(log(5))).toBe("step   5/100  loss 1.2346    1235 tokens/s  1m 35s left");
  expect(at(79).log(log(20))).toBe("step  20/100  loss 1.2346    1235 tokens/s  1m 20s left");
  expect(at(159).log(log(100))).toBe("step 100/100  loss 1.2346    1235 tokens/s  0s left");
});

it("shows hours when there are some", () => {
  const at = createTold({ maxSteps: 10_001 });
  at(0).started();
  at(0).log({ step: 1 });
  expect(at(1).log({ step: 2 })).toContain("  2h 46m left");
});

it("has a word for a loss that is missing or not finite", () => {
  const at = createTold({ maxSteps: 2 });
  at(0).started();
  expect(at(1).log({ step: 1 })).toBe("step 1/2  loss n/a          0 tokens/s");
  expect(at(1).log({ step: 1, loss: null })).toContain("loss n/a ");
});

it("gives no time left, and no nonsense, when steps go back", () => {
  const at = createTold({ maxSteps: 9 });
  at(0).started();
  at(1).log({ step: 5, loss: 1 });
  expect(at(2).log({ step: 3, loss: 1 })).not.toContain("left");
});

it("counts the training's time, not that of the queue", () => {
  const at = createTold({ maxSteps: 1 });
  at(500).started();
  expect(at(565).end({ artifacts: [{ step: 1, kind: "model", path: "artifacts/step-1" }] })).toBe(
    "completed in 1m 05s: d/artifacts/step-1",
  );
  expect(at(565).end({ artifacts: [] })).toBe("completed in 1m 05s");
});

it("has one line for each other event", () => {
  const { progress } = createTold({ maxSteps: 1 })(0);
  expect(
    progress.line({
      event: "checkpoint.saved",
      data: { step: 1, kind: "model", path: "artifacts/step-1" },
    }),
  ).toBe("checkpoint d/artifacts/step-1");
  expect(progress.line({ event: "training.failed", data: { error: "no" } })).toBe("failed: no");
  expect(progress.line({ event: "training.cancelled", data: { step: 3 } })).toBe(
    "cancelled at step 3",
  );
});
