import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { EngineEvent } from "../../../protocol/event.ts";
import type { TrainConfig } from "../../../protocol/trainConfig.ts";
import { type Run, artifactNames, dataOf, losses, tinyConfig } from "../embedded/run.ts";
import { scratchDirectory } from "../embedded/scratch.ts";
import { BACKENDS } from "./backends.ts";

const LORA = { r: 2, alpha: 4, targetModules: ["q_proj", "down_proj"] };

describe.each(BACKENDS)("a training on %s", (_, run, tooHigh) => {
  test("a training reports its start, its steps and its checkpoints, in order", async () => {
    const config = tinyConfig({ maxSteps: 7, loggingSteps: 3, saveSteps: 3 });
    const { events, artifacts, directory } = await run(config);
    const told = events.map(({ event, data }) =>
      "step" in data ? `${event} ${data.step}` : event,
    );
    expect(told).toEqual([
      "training.started",
      "training.log 1",
      "training.log 2",
      "training.log 3",
      "checkpoint.saved 3",
      "training.log 6",
      "checkpoint.saved 6",
      "training.log 7",
      "checkpoint.saved 7",
    ]);
    expect(events[0]?.data).toEqual({
      model: "llama-16x1",
      parameters: 7600,
      rows: 16,
      cut: 0,
      leftOut: 0,
      maxLength: 48,
      format: "{prompt, completion}",
      tokens: expect.any(Number),
      fingerprint: expect.any(String),
      maxSteps: 7,
      epochs: 1.75,
    });
    expect(dataOf(events, "training.log").at(-1)).toEqual({
      step: 7,
      loss: expect.any(Number),
      learningRate: 0.001,
      gradNorm: expect.any(Number),
      epoch: 1.75,
      tokensPerSecond: expect.any(Number),
    });
    expect(artifacts).toEqual(dataOf(events, "checkpoint.saved"));
    expect(artifacts.at(-1)).toEqual({ step: 7, kind: "model", path: "artifacts/step-7" });
    expect(artifactNames(directory)).toEqual(["step-3", "step-6", "step-7"]);
    const state: unknown = JSON.parse(
      readFileSync(join(directory, "artifacts/step-7/trainer_state.json"), "utf8"),
    );
    expect(state).toMatchObject({
      global_step: 7,
      max_steps: 7,
      epoch: 1.75,
      log_history: [
        { step: 1 },
        { step: 2 },
        { step: 3 },
        { step: 6 },
        { step: 7, learning_rate: 0.001 },
      ],
    });
  });

  test("a loss that is logged is the mean of the steps since the log before, a norm the last one's", async () => {
    const seven = { maxSteps: 7, saveSteps: 100 };
    const runs = [1, 100].map((loggingSteps) => run(tinyConfig({ ...seven, loggingSteps })));
    const [each, some] = await Promise.all(runs);
    const all = losses(each!) as number[];
    const [first, second, rest] = losses(some!);
    expect([first, second]).toEqual(all.slice(0, 2));
    const mean = all.slice(2).reduce((sum, loss) => sum + loss) / 5;
    expect(rest).toBeCloseTo(mean, 5);
    const normOf = ({ events }: Run) => dataOf(events, "training.log").at(-1)?.gradNorm;
    expect(normOf(some!)).toBe(normOf(each!));
  });

  test.each([undefined, LORA])(
    "the gradients of 2 batches of 4 rows are those of one of 8: %j",
    async (lora) => {
      const some = { lora, maxSteps: 6, loggingSteps: 1, saveSteps: 6 };
      const one = await run(tinyConfig({ ...some, batchSize: 8 }));
      const two = await run(tinyConfig({ ...some, batchSize: 4, gradientAccumulationSteps: 2 }));
      const logsOf = ({ events }: Run) =>
        dataOf(events, "training.log").map(({ tokensPerSecond: _, ...log }) => log);
      const near = (value: unknown) =>
        typeof value === "number" ? (expect.closeTo(value, 3) as number) : value;
      expect(logsOf(one)).toHaveLength(6);
      expect(logsOf(two)).toEqual(
        logsOf(one).map((log) =>
          Object.fromEntries(Object.entries(log).map(([name, value]) => [name, near(value)])),
        ),
      );
      expect(two.events[0]).toEqual(one.events[0]);
    },
  );

  /** The events and files of a run whose learning rate rises until it breaks the weights. */
  async function diverge(config: Partial<TrainConfig>) {
    const directory = scratchDirectory();
    const events: string[] = [];
    const onEvent = ({ event, data }: EngineEvent) =>
      void events.push("step" in data ? `${event} ${data.step}` : event);
    const rising = tinyConfig({ maxSteps: 60, learningRate: tooHigh, warmupSteps: 20, ...config });
    const error = await run(rising, { onEvent }, directory).then(
      () => undefined,
      (thrown: unknown) => thrown as Error,
    );
    const [, step] = /diverged at step (\d+):/.exec(error?.message ?? "") ?? [];
    return { error, step: Number(step), events, artifacts: artifactNames(directory) };
  }

  test("a training that diverges fails at that step, and keeps the checkpoints of before", async () => {
    const { error, step, events, artifacts } = await diverge({ saveSteps: 1 });
    expect(error).toMatchObject({ name: "KitError", code: "DIVERGED" });
    expect(error?.message).toMatch(
      /^Training diverged at step \d+: the (loss|gradient norm) is not finite, with a learningRate of [\de+]+\. Try a learningRate of 0\.01 or less, or more warmupSteps\.$/,
    );
    expect(step).toBeGreaterThan(2);
    // The weights that the step before it left are the broken ones.
    const good = Array.from({ length: step - 2 }, (_, n) => n + 1);
    expect(artifacts).toEqual(good.map((n) => `step-${n}`));
    expect(events).toEqual([
      "training.started",
      ...good.flatMap((n) => [`training.log ${n}`, `checkpoint.saved ${n}`]),
      `training.log ${step - 1}`,
    ]);
  });

  test("a training that diverges between two logs fails at that step", async () => {
    const { step, events } = await diverge({ loggingSteps: 100, saveSteps: 100 });
    expect(step).toBeGreaterThan(2);
    expect(step).toBeLessThan(60);
    expect(events).toEqual(["training.started", "training.log 1", "training.log 2"]);
  });

  test("a training whose last step breaks the weights fails, and saves nothing of them", async () => {
    const last = { maxSteps: 1, learningRate: 5e4 * tooHigh, warmupSteps: 0 };
    const { error, events, artifacts } = await diverge(last);
    expect(error?.message).toContain("diverged at step 1:");
    expect(events).toEqual(["training.started", "training.log 1"]);
    expect(artifacts).toEqual([]);
  });
});
