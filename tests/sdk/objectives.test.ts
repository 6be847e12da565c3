import { existsSync } from "node:fs";
import { join } from "node:path";
import type { TrainerOptions } from "kit";
import { expect, test } from "vitest";
import { type DrivenTrainer, DRIVER } from "../../sdk/trainer.ts";
import { createTinyTrainer, enterProject, readEvents } from "./project.ts";

const PAIRS = Array.from({ length: 12 }, (_, i) => ({
  prompt: `${i}?`,
  chosen: "y",
  rejected: "n",
}));
const JUDGED = PAIRS.flatMap(({ prompt, chosen, rejected }) => [
  { prompt, completion: chosen, label: true },
  { prompt, completion: rejected, label: false },
]);
const LEARNS = { maxSteps: 12, saveSteps: 4, evalSteps: 4, evalSplit: 0.25, learningRate: 0.01 };

async function train(options: Partial<TrainerOptions>, { resume = false } = {}) {
  const trainer = createTinyTrainer({ ...LEARNS, warmupSteps: 0, ...options }) as DrivenTrainer;
  const notes: string[] = [];
  trainer[DRIVER].observe({ onNote: (text) => notes.push(text) });
  if (resume) trainer[DRIVER].resume();
  const { jobId } = await trainer.start();
  const result = await trainer.wait().catch((error: unknown) => ({ error: String(error) }));
  const log = readEvents(process.cwd(), jobId);
  const figures = log
    .filter(({ event }) => event === "training.log")
    .map(({ data: { tokensPerSecond: _, ...data } }) => data);
  return { jobId, result, log, figures, notes };
}

test.each([
  ["rewardsAccuracies", true],
  ["rewardsRejected", false],
] as const)("the best checkpoint is the best by %s", async (metric, isHigherBetter) => {
  enterProject();
  const { result, figures } = await train({
    ...{ dataset: PAIRS, objective: { type: "dpo" }, loadBestModelAtEnd: true },
    metricForBestModel: metric,
  });
  const name = `evalR${metric.slice(1)}`;
  const values = figures.flatMap(({ step, metrics }) => {
    const value = (metrics as Record<string, number>)[name];
    return value === undefined ? [] : [{ step, value: isHigherBetter ? -value : value }];
  });
  expect(values).toHaveLength(3);
  const best = values.reduce((one, other) => (other.value < one.value ? other : one));
  const { artifacts = [] } = result as { artifacts?: object[] };
  expect(artifacts.at(-1)).toMatchObject({ step: best.step, best: true });
});

test("early stopping waits for a metric of the objective", async () => {
  enterProject();
  const { log } = await train({
    ...{ dataset: PAIRS, objective: { type: "dpo" }, maxSteps: 400, learningRate: 0.02 },
    ...{ loadBestModelAtEnd: true, metricForBestModel: "rewardsAccuracies" },
    earlyStoppingPatience: 2,
  });
  const { event, data } = log.at(-1) ?? {};
  expect(event).toBe("training.completed");
  expect(data?.["stoppedAt"]).toBeLessThan(400);
});

test("a metric that the held-out rows do not have neither stops a training nor goes unsaid", async () => {
  enterProject();
  const { log, figures, notes } = await train({
    ...{ dataset: JUDGED, evalSplit: undefined, objective: { type: "kto" } },
    evalDataset: JUDGED.filter(({ label }) => !label),
    ...{ metricForBestModel: "rewardsMargins", earlyStoppingPatience: 1, loadBestModelAtEnd: true },
  });
  expect(figures.at(-1)?.step).toBe(12);
  expect(log.at(-1)?.data?.["stoppedAt"]).toBeUndefined();
  expect(notes.filter((note) => note.includes('have no "rewardsMargins"'))).toHaveLength(1);
});

test("a whole model's training goes on from a failed job to the same figures", async () => {
  enterProject();
  // Enough steps for the callback to end it in their midst, however busy the machine is.
  const options = { dataset: JUDGED, objective: { type: "kto" }, maxSteps: 100 } as const;
  const whole = await train(options);
  expect(existsSync(join(process.cwd(), ".kit/jobs", whole.jobId, "reference.json"))).toBe(true);
  const onCheckpoint = () => {
    throw new Error("the machine burns");
  };
  await train({ ...options, callbacks: { onCheckpoint } });
  const more = await train(options, { resume: true });
  // The training goes on while the callback runs, so it may have saved another checkpoint.
  const { resumedStep } = more.log[0]?.data as { resumedStep: number };
  expect(resumedStep).toBeGreaterThanOrEqual(4);
  expect(more.figures).toEqual(whole.figures.filter(({ step }) => Number(step) > resumedStep));
});

test("held-out questions are asked with the chosen answers, and with those that are good", async () => {
  enterProject();
  for (const [type, dataset] of [
    ["dpo", PAIRS],
    ["kto", JUDGED],
  ] as const) {
    const expected = new Set<unknown>();
    const metrics = {
      right: (asked: { expected?: string | undefined }) => {
        expected.add(asked.expected);
        return true;
      },
    };
    await train({ dataset, objective: { type }, maxSteps: 1, evaluate: { metrics } });
    expect([...expected]).toEqual(["y"]);
  }
});

test("columns of a table become pairs", async () => {
  enterProject({ "log.csv": "question,good,bad\n1,y,n\n2,y,n\n" });
  const { log } = await train({
    dataset: {
      path: "log.csv",
      columns: { prompt: "question", chosen: "good", rejected: "bad" },
    },
    ...{ objective: { type: "dpo" }, maxSteps: 1, evalSplit: undefined, evalSteps: undefined },
  });
  expect(log[0]?.data).toMatchObject({ rows: 2, format: "{prompt, chosen, rejected}" });
});
