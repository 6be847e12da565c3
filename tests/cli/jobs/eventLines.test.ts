import { expect, it } from "vitest";
import { createEventLines } from "../../../cli/jobs/eventLines.ts";
import { rowLimit } from "../../../engines/dataset/rowLimit.ts";
import type { Artifact, EventData, JobEvent } from "../../../protocol/event.ts";
import type { TrainConfig } from "../../../protocol/trainConfig.ts";
import { type TrainerOptions, checkOptions } from "../../../sdk/options.ts";
import { CONFIG as LEAST } from "../../jobs.ts";

const CONFIG: TrainConfig = {
  ...LEAST,
  dataset: { type: "jsonl", path: "/home/me/dates/data/train.jsonl" },
  maxSteps: 1000,
  batchSize: 32,
  saveSteps: 100,
};
const ARTIFACT: Artifact = { step: 1, kind: "model", path: "artifacts/step-1" };

/** Characters of a line in the page's box, at 1280 and at 390 pixels; tests/e2e/fit.test.ts holds them. */
const BOX_WIDTH = 68;
const PHONE_WIDTH = 51;

function createPrinter(changes: Partial<TrainConfig> = {}, directory = "d") {
  let seconds = 0;
  const config = { ...CONFIG, ...changes };
  const progress = createEventLines({
    config,
    project: "/home/me/dates",
    directory,
    now: () => seconds * 1000,
  });
  const at = (time: number) => {
    seconds = time;
    return {
      started: (more: Partial<EventData["training.started"]> = {}) =>
        progress.text({
          event: "training.started",
          data: {
            model: "kit/nano",
            parameters: 117_000,
            rows: 4000,
            maxSteps: config.maxSteps ?? 0,
            ...more,
          },
        }),
      log: (data: EventData["training.log"]) => progress.text({ event: "training.log", data }),
      saved: (data: Artifact) => progress.text({ event: "checkpoint.saved", data }),
      completed: () => progress.text({ event: "training.completed", data: { artifacts: [] } }),
      progress,
    };
  };
  at(0);
  return at;
}

it("says which checkpoints are not on this machine", () => {
  const isLocal = (path: string) => path.endsWith("-1");
  const lines = createEventLines({ config: CONFIG, project: "/", directory: "d", isLocal });
  const [here, there] = [1, 2].map((step) => {
    const data = { ...ARTIFACT, step, path: `artifacts/step-${step}` };
    return lines.text({ event: "checkpoint.saved", data });
  });
  expect(here).toBe("checkpoint d/artifacts/step-1");
  expect(there).toBe("checkpoint d/artifacts/step-2 (on the cluster)");
  expect(lines.text({ event: "training.cancelled", data: { step: 2 } })).toBe(
    "cancelled at step 2; saved in d/artifacts/step-2 (on the cluster); try it: npx kit infer d",
  );
});

it.each<[Partial<TrainerOptions>, string]>([
  [{ lora: { r: 8, alpha: 16 } }, "0.0002"],
  [{}, "0.00002"],
])("names the defaults that a pretrained model takes: %j", (asked, rate) => {
  const dataset = { type: "jsonl", path: "train.jsonl" } as const;
  const { config } = checkOptions({ name: "a", dataset, model: "org/name", ...asked });
  const started = { model: "org/name", maxLength: rowLimit(config.maxLength, 8192, true) };
  const lines = createPrinter(config)(0)
    .started({ ...started, maxSteps: 400 })
    .split("\n");
  expect(lines.slice(-3)).toEqual([
    "  steps          400 with 4 rows each",
    "  row length     up to 1,024 tokens",
    `  learning rate  ${rate}`,
  ]);
  const own = checkOptions({ name: "a", dataset }).config;
  expect(createPrinter(own)(0).started({ maxLength: 256 })).not.toMatch("learning rate");
});

it("prints the model, its data and their sizes, aligned", () => {
  expect(createPrinter()(0).started({ tokens: 81_204, epochs: 8, format: "{text}", cut: 0 }))
    .toBe(`training kit/nano
  parameters  117,000
  data        data/train.jsonl
  rows        4,000 of {text}
  tokens      81,204
  steps       1,000 with 32 rows each
  epochs      8`);
});

it("names the first of several paths", () => {
  const path = ["a*", "b", "c"].map((name) => `/home/me/dates/data/${name}.jsonl`);
  expect(createPrinter({ dataset: { type: "jsonl", path } })(0).started()).toContain(
    "\n  data        data/a*.jsonl and 2 more\n",
  );
});

it("names an adapter's base, and omits what an engine does not report", () => {
  const lora = { r: 8, alpha: 16, targetModules: ["q_proj"] };
  const dataset = { type: "jsonl", path: "/data/train.jsonl" } as const;
  const model = "/home/me/dates/.kit/jobs/a/artifacts/step-4";
  expect(createPrinter({ lora, dataset })(0).started({ model }))
    .toBe(`training .kit/jobs/a/artifacts/step-4
  parameters  117,000 of an adapter (LoRA, r 8, alpha 16)
  data        /data/train.jsonl
  rows        4,000
  steps       1,000 with 32 rows each`);
});

it("warns of rows that are left out or cut, which would otherwise be missed in silence", () => {
  const warned = (more: Partial<EventData["training.started"]>) => {
    const [, warning] = createPrinter()(0).started(more).split("32 rows each\n");
    return warning;
  };
  expect(warned({ rows: 9, cut: 1, leftOut: 11, maxLength: 256, keepLeftOut: "maxLength: 600" }))
    .toBe(`warning: 11 of 20 rows skipped: the prompt leaves no room for an answer in 256 tokens; 1 truncated
  to keep them: maxLength: 600`);
  expect(warned({ rows: 3999, cut: 0, leftOut: 1, maxLength: 64 })).toBe(
    "warning: 1 of 4,000 rows skipped: the prompt leaves no room for an answer in 64 tokens",
  );
  expect(warned({ rows: 4000, cut: 1200, leftOut: 0, maxLength: 64 })).toBe(
    "warning: 1,200 of 4,000 rows truncated to 64 tokens",
  );
  expect(warned({ evalRows: 9, evalCut: 2, evalLeftOut: 1, maxLength: 64 })).toBe(
    "warning: 1 of 10 held-out rows skipped: the prompt leaves no room for an answer in 64 tokens; 2 truncated",
  );
  expect(warned({ rows: 1, cut: 1, evalRows: 1, evalCut: 1, maxLength: 1 })).toBe(
    "warning: 1 of 1 row truncated to 1 token\nwarning: 1 of 1 held-out row truncated to 1 token",
  );
  // As a job of before says it.
  expect(warned({ rows: 4000, cut: 1200 })).toBe(
    "warning: 1,200 of 4,000 rows truncated to maxLength or the model's context",
  );
  expect(warned({ rows: 4000, cut: 0, leftOut: 0, maxLength: 64 })).toBeUndefined();
});

it("warns of sizes that do not fit each other", () => {
  const warned = (config: Partial<TrainConfig>, epochs?: number) => {
    const more = { maxSteps: 100, ...(epochs !== undefined && { epochs }) };
    const [, warning] = createPrinter({ warmupSteps: 20, ...config })(0)
      .started(more)
      .split("rows each\n");
    return warning?.replace(/^ {2}epochs.*\n?/, "");
  };
  const warmUp = `warning: training takes 100 steps, but warmupSteps is 101
  lower it to reach the learning rate of 0.5`;
  expect(warned({ warmupSteps: 101, learningRate: 0.5 })).toBe(warmUp);
  expect(warned({ warmupSteps: 100 })).toBeUndefined();
  expect(warned({ warmupSteps: 0.9 })).toBeUndefined();
  const repeats = `warning: a step takes 64 rows, more than there are, so some repeat
  lower batchSize or gradientAccumulationSteps, or add rows`;
  expect(warned({ gradientAccumulationSteps: 2 }, 100.1)).toBe(repeats);
  // As many rows as a step takes.
  expect(warned({}, 100)).toBe("");
  const both = warned({ batchSize: 9, warmupSteps: 101 }, 900)?.split("\n") ?? [];
  expect(both).toHaveLength(4);
  for (const line of both) expect(line.length).toBeLessThanOrEqual(BOX_WIDTH);
});

it("estimates the time left from the first log on, and the speed with it, so that compiling does not count", () => {
  const at = createPrinter({ maxSteps: 100 });
  at(0).started();
  const log = (step: number) => ({ step, loss: 1.23456, tokensPerSecond: 1234.5 });
  expect(at(60).log(log(1))).toBe("step   1/100 loss 1.2346");
  expect(at(64).log(log(5))).toBe("step   5/100 loss 1.2346 1,235 tok/s 1m 35s left");
  expect(at(79).log(log(20))).toBe("step  20/100 loss 1.2346 1,235 tok/s 1m 20s left");
  expect(at(159).log(log(100))).toBe("step 100/100 loss 1.2346 1,235 tok/s 0s left");
});

it("estimates it from the second step on where that was quick: on a GPU, it still warms up", () => {
  const at = createPrinter({ maxSteps: 1000 });
  at(0).started();
  const log = (step: number) => ({ step, loss: 1, tokensPerSecond: 10 });
  expect(at(8).log(log(1))).not.toContain("left");
  expect(at(10).log(log(2))).not.toContain("left");
  expect(at(10.1).log(log(3))).toContain(" 1m 40s left");
  expect(at(10.8).log(log(10))).toContain(" 1m 39s left");
  const slow = createPrinter({ maxSteps: 1000 });
  slow(0).started();
  slow(60).log(log(1));
  expect(slow(120).log(log(2))).toContain(" 16h 38m left");
});

it("prints the evalLoss of an evaluated step in place of the speed, so that its line is no longer", () => {
  const at = createPrinter({ maxSteps: 100 });
  expect(at(0).started({ evalRows: 1200 })).toContain("held out    1,200 rows to evaluate on");
  expect(at(0).started({ evalRows: 1 })).toContain("held out    1 row to evaluate on");
  const log = { loss: 1.23456, evalLoss: 12.3456, tokensPerSecond: 1234.5 };
  expect(at(60).log({ step: 1, ...log })).toBe("step   1/100 loss 1.2346 eval 12.346");
  const [plain, evaluated] = [{ ...log, evalLoss: undefined }, log].map((some) =>
    at(79).log({ step: 20, ...some }),
  );
  expect(evaluated).toBe("step  20/100 loss 1.2346 eval 12.346 1m 20s left");
  expect(evaluated).toHaveLength(plain?.length ?? 0);
  expect(at(79).log({ step: 20, ...log, evalLoss: null })).toContain("eval n/a");
});

it("keeps each line of a usual job within the box of the page, and a step's within a phone's", () => {
  const directory = ".kit/jobs/20261121-095830-123-k3f9";
  const at = createPrinter({ lora: { r: 8, alpha: 16, targetModules: ["q_proj"] } }, directory);
  const saved = { ...ARTIFACT, kind: "adapter", path: "artifacts/step-1000" } as const;
  const model = `${directory}/${saved.path}`;
  const step = { loss: 10.23456, tokensPerSecond: 12_345.6 };
  const text = [
    at(0).started({ model, format: "{prompt, completion}", tokens: 812_040, epochs: 8 }),
    at(1).saved(saved),
  ].join("\n");
  for (const line of text.split("\n")) expect(line.length, line).toBeLessThanOrEqual(BOX_WIDTH);
  at(0).log({ step: 1, ...step });
  const line = at(300).log({ step: 100, ...step });
  expect(line).toBe("step  100/1000 loss 10.235 12.3k tok/s 45m 27s left");
  expect(line.length).toBeLessThanOrEqual(PHONE_WIDTH);
});

it.each([
  [10_002, " 2h 46m left"],
  [1_000_003, " 11d 13h left"],
])("shows hours and days when there are some: %i steps of a second", (maxSteps, left) => {
  const at = createPrinter({ maxSteps });
  at(0).started();
  at(0).log({ step: 1 });
  expect(at(2).log({ step: 3 })).toContain(left);
});

it("claims no speed of a run that is over with its first step", () => {
  const at = createPrinter({ maxSteps: 1 });
  at(0).started();
  expect(at(3).log({ step: 1, loss: 5.5, tokensPerSecond: 16 })).toBe("step 1/1 loss 5.5000");
});

it("has a word for a loss that is missing or not finite", () => {
  const at = createPrinter({ maxSteps: 2 });
  at(0).started();
  expect(at(1).log({ step: 1 })).toBe("step 1/2 loss n/a");
  expect(at(1).log({ step: 1, loss: null })).toBe("step 1/2 loss n/a");
  expect(at(2).log({ step: 2, loss: null })).toBe("step 2/2 loss n/a        0 tok/s 0s left");
});

it("prints an event without a line of its own by its name and what fits in words", () => {
  const lines = createEventLines({ config: CONFIG, project: "/p", directory: "d" });
  const event = { event: "model.merged", data: { step: 3, by: "a\nb", tensors: [1] } };
  expect(lines.text(event as unknown as JobEvent)).toBe("model merged step 3 by a\\nb");
});

it("prints the metrics of a log below its line", () => {
  const at = createPrinter({ maxSteps: 2 });
  at(0).started();
  const metrics = { rewardsMargins: 0.123456, evalAccuracy: null };
  expect(at(1).log({ step: 1, loss: 1, metrics })).toBe(
    "step 1/2 loss 1.0000\n  rewardsMargins 0.1235  evalAccuracy n/a",
  );
  expect(at(1).log({ step: 1, loss: 1, metrics: {} })).toBe("step 1/2 loss 1.0000");
});

it.each([
  ["rewardsAccuracies", true, "best rewardsAccuracies 0.75 at step 2"],
  ["rewardsRejected", false, "best rewardsRejected 0.5 at step 1"],
])("names the best checkpoint by the objective's %s", (metric, greaterIsBetter, expected) => {
  const config = { ...CONFIG, maxSteps: 3, metricForBestModel: metric, greaterIsBetter };
  const lines = createEventLines({ config, project: "/", directory: "d" });
  const log = { loss: 1, learningRate: 1, gradNorm: 1, epoch: 1, tokensPerSecond: 1, evalLoss: 2 };
  for (const [i, figure] of [0.5, 0.75, 0.7].entries()) {
    const metrics = { [metric]: 9, [`evalR${metric.slice(1)}`]: figure };
    lines.text({ event: "training.log", data: { ...log, step: i + 1, metrics } });
  }
  lines.text({ event: "checkpoint.saved", data: { ...ARTIFACT, step: 3 } });
  const line = lines.text({ event: "training.completed", data: { artifacts: [] } });
  expect(line).toContain(`loss 1.0000, ${expected}; saved in d/`);
  expect(line).toContain(`(${metric} 0.7)`);
});

it("prints what asking the model has shown, beside the figures of before", () => {
  const lines = createEventLines({ config: CONFIG, project: "/", directory: "d" });
  const evaluated = (step: number, metrics: Record<string, number>) =>
    lines.text({ event: "checkpoint.evaluated", data: { step, metrics, rows: 4, seconds: 1 } });
  expect(evaluated(0, { accuracy: 0.31 })).toBe("evaluated step 0: accuracy 0.31");
  expect(evaluated(100, { accuracy: 0.92345, f1: 1 })).toBe(
    "evaluated step 100: accuracy 0.923 (before 0.31), f1 1",
  );
});

it("gives no time left, and no nonsense, when steps go back", () => {
  const at = createPrinter({ maxSteps: 9 });
  at(0).started();
  at(1).log({ step: 5, loss: 1 });
  expect(at(2).log({ step: 3, loss: 1 })).not.toContain("left");
});

it("ends with one line: where the last artifact lies and how to ask it; counts no time in the queue", () => {
  const at = createPrinter();
  at(500).started();
  expect(at(565).completed()).toBe("completed in 1m 05s");
  at(565).saved(ARTIFACT);
  expect(at(565).completed()).toBe(
    "completed in 1m 05s; saved in d/artifacts/step-1; try it: npx kit infer d",
  );
});

it("says the last loss and the best evaluation of a job that completed, and how good its artifact is", () => {
  const at = createPrinter();
  at(0).started();
  at(1).log({ step: 1, loss: 2, evalLoss: 1.5 });
  at(2).log({ step: 2, loss: 1, evalLoss: 0.75 });
  at(3).log({ step: 3, loss: null, evalLoss: 0.9 });
  const losses = "completed in 4s: loss 1.0000, best evalLoss 0.7500 at step 2";
  expect(at(4).completed()).toBe(losses);
  const artifact = (step: number): Artifact => ({ ...ARTIFACT, step, path: `artifacts/${step}` });
  at(4).saved(artifact(2));
  expect(at(4).completed()).toBe(`${losses}; saved in d/artifacts/2; try it: npx kit infer d`);
  at(4).saved(artifact(3));
  expect(at(4).completed()).toContain("; saved in d/artifacts/3 (evalLoss 0.9000); try it: ");
  at(4).saved(artifact(4));
  expect(at(4).completed()).toContain("; saved in d/artifacts/4 (not evaluated); try it: ");
  at(0).started({ resumedBest: { step: 40, evalLoss: 0.5 } });
  at(1).log({ step: 41, loss: 1, evalLoss: 0.9 });
  expect(at(4).completed()).toContain(", best evalLoss 0.5000 at step 40");
});

it("takes what the job before measured for the last line of one that goes on from it", () => {
  const log = (step: number, evalRewardsMargins: number) =>
    ({
      event: "training.log",
      data: { step, loss: 1, evalLoss: 1, metrics: { evalRewardsMargins } },
    }) as const;
  const lines = createEventLines({
    config: { ...CONFIG, metricForBestModel: "rewardsMargins", greaterIsBetter: true },
    ...{ project: "/", directory: "d", now: () => 0 },
    earlierMetrics: (upTo) => [log(20, 0.5), log(upTo, 0.25)],
  });
  const started = { model: "m", parameters: 1, rows: 1, maxSteps: 60, resumedStep: 40 };
  lines.text({ event: "training.started", data: started });
  lines.text(log(60, 0.125));
  const data = { ...ARTIFACT, step: 40, path: "artifacts/40" };
  expect(lines.text({ event: "training.completed", data: { artifacts: [data] } })).toContain(
    ", best rewardsMargins 0.5 at step 20; saved in d/artifacts/40 (rewardsMargins 0.25); try it: ",
  );
});

it("names a cancelled job's last artifact, and also the reason of a failed one", () => {
  const at = createPrinter();
  const cancel = () =>
    at(0)
      .progress.text({ event: "training.cancelled", data: { step: 3 } })
      .split("; try it")[0];
  const fail = () => at(0).progress.text({ event: "training.failed", data: { error: "no" } });
  expect([cancel(), fail()]).toEqual([
    "cancelled at step 3; this job has saved nothing",
    "failed: no",
  ]);
  at(0).saved(ARTIFACT);
  expect(cancel()).toBe("cancelled at step 3; saved in d/artifacts/step-1");
  expect(fail()).toBe("failed: no\n  checkpoint  d/artifacts/step-1");
});

it("counts the time from where the model was asked before the training", () => {
  const at = createPrinter();
  const data = { step: 0, answered: 0, rows: 100 };
  expect(at(0).progress.text({ event: "checkpoint.evaluating", data })).toBe("");
  at(263).started();
  at(300).log({ step: 1, loss: 1 });
  expect(at(323).completed()).toMatch(/^completed in 5m 23s: /);
});
