import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { EVALUATED } from "../../protocol/event.ts";
import type { EvaluatedContext, TrainerOptions } from "../../sdk/index.ts";
import { type DrivenTrainer, DRIVER } from "../../sdk/trainer.ts";
import { createTinyTrainer, enterProject, readEvents } from "./project.ts";

const ROWS = Array.from({ length: 12 }, (_, n) => ({
  prompt: `${n}`,
  completion: n % 2 === 0 ? "even" : "odd",
}));
const HELD = ROWS.slice(0, 4);
/** Enough to learn the rows by heart. */
const LEARNS: Partial<TrainerOptions> = {
  model: { layers: 1, heads: 2, width: 32, context: 32 },
  dataset: ROWS,
  evalDataset: HELD,
  ...{ maxSteps: 60, saveSteps: 30, batchSize: 12, learningRate: 0.02, warmupSteps: 0 },
};
const exact = ({ output, expected }: { output: string; expected: string }) => output === expected;

/** A trainer's job, what it told, and what its log has. */
async function train(more: Partial<TrainerOptions>) {
  const trainer = createTinyTrainer({ ...LEARNS, ...more });
  const notes: string[] = [];
  (trainer as DrivenTrainer)[DRIVER].observe({ onNote: (note) => void notes.push(note) });
  const { jobId } = await trainer.start();
  const error = await trainer.wait().then(
    () => undefined,
    (thrown: unknown) => thrown as Error,
  );
  const events = readEvents(process.cwd(), jobId);
  const evaluated = events.filter(({ event }) => event === EVALUATED).map(({ data }) => data);
  return { trainer, jobId, notes, error, events, evaluated };
}

describe("evaluate", () => {
  it("asks before the first step and at each checkpoint, and logs the figures", async () => {
    enterProject();
    const seen: EvaluatedContext[] = [];
    const order: string[] = [];
    const { events, evaluated, notes } = await train({
      evaluate: { metrics: { accuracy: exact, letters: ({ output }) => output.length } },
      callbacks: {
        onEvaluated: (context) => {
          seen.push(context);
          order.push(`evaluated ${context.step}`);
        },
        onCheckpoint: ({ step }) => void order.push(`checkpoint ${step}`),
      },
    });
    expect(events.slice(0, 2).map(({ event }) => event)).toEqual(["training.started", EVALUATED]);
    expect(evaluated.map(({ step, rows }) => [step, rows])).toEqual([
      [0, 4],
      [30, 4],
      [60, 4],
    ]);
    expect(evaluated[0]?.metrics).toMatchObject({ accuracy: 0 });
    expect(evaluated.at(-1)?.metrics).toEqual({ accuracy: 1, letters: 3.5 });
    expect(order).toEqual([
      ...["evaluated 0", "evaluated 30", "checkpoint 30", "evaluated 60", "checkpoint 60"],
    ]);
    expect(seen.at(-1)).toMatchObject({
      ...{ step: 60, rows: 4, metrics: { accuracy: 1 } },
      before: { accuracy: 0 },
      job: { status: "running" },
    });
    expect(notes).toContain("asking the model for 4 held-out rows before it is trained");
  });

  it("asks rows that evalSplit sets aside, as many as are asked for, the same for a seed", async () => {
    const asked: string[][] = [];
    for (let run = 0; run < 2; run++) {
      enterProject();
      const inputs = new Set<string>();
      const note = ({ input }: { input: string }) => inputs.add(input).size;
      const { evaluated, notes } = await train({
        ...{ evalDataset: undefined, evalSplit: 0.5, maxSteps: 2, saveSteps: 2 },
        evaluate: { metrics: { note }, rows: 3, maxTokens: 2 },
      });
      expect(evaluated.map(({ rows }) => rows)).toEqual([3, 3]);
      expect(notes[0]).toBe("asking the model for 3 of 6 held-out rows before it is trained");
      asked.push([...inputs]);
    }
    expect(asked[0]).toHaveLength(3);
    expect(asked[1]).toEqual(asked[0]);
  });

  it("chooses the best checkpoint by a metric, and ends when it gets no better", async () => {
    enterProject();
    /** Worse with each checkpoint. */
    let asked = 0;
    const falling = () => 1 - asked++ / 100;
    const { events, evaluated } = await train({
      ...{ maxSteps: 4000, saveSteps: 20, metricForBestModel: "falling" },
      ...{ loadBestModelAtEnd: true, earlyStoppingPatience: 2 },
      evaluate: { metrics: { falling } },
    });
    const end = events.at(-1);
    expect(end).toMatchObject({ event: "training.completed", data: { stoppedAt: 40 } });
    expect(evaluated.slice(0, 3).map(({ step }) => step)).toEqual([0, 20, 40]);
    expect((end?.data.artifacts as object[]).at(-1)).toMatchObject({ step: 20, best: true });
  });

  it("takes a metric of which a lower figure is better", async () => {
    enterProject();
    let asked = 0;
    const { events, evaluated } = await train({
      ...{ maxSteps: 6, saveSteps: 2, metricForBestModel: "errors" },
      ...{ loadBestModelAtEnd: true, greaterIsBetter: false },
      evaluate: { metrics: { errors: () => asked++ } },
    });
    expect((events.at(-1)?.data.artifacts as object[]).at(-1)).toMatchObject({
      step: 2,
      best: true,
    });
    expect(evaluated[0]?.lowerIsBetter).toEqual(["errors"]);
  });

  it("fails the job with the row and the place of a metric that throws, or returns no number", async () => {
    enterProject();
    const thrown = await train({
      evaluate: {
        metrics: {
          bad: () => {
            throw new Error("no judge");
          },
        },
      },
    });
    expect(thrown.error?.message).toMatch(
      /^The metric bad failed on row 1, "0": no judge \(tests\/sdk\/evaluate\.test\.ts:\d+:\d+\)$|^The metric bad failed on row 1, "0": no judge$/,
    );
    expect(thrown.error).toMatchObject({ code: "METRIC_FAILED" });
    const nan = await train({ evaluate: { metrics: { bad: () => NaN } } });
    expect(nan.error?.message).toBe(
      'The metric bad returned NaN for row 1, "0". Make it return a number, true or false.',
    );
    const texts = await train({
      evalDataset: [{ text: "no answer" }],
      evaluate: { metrics: { exact } },
    });
    expect(texts.error?.message).toMatch(/^"evaluate" finds no held-out row with an answer/);
  });

  it("is resumed with the figures of before, and asks only what is new", async () => {
    enterProject();
    const evaluate = { metrics: { accuracy: exact } };
    const stop = {
      onCheckpoint: ({ step }: { step: number }) => {
        if (step === 30) throw new Error("stop");
      },
    };
    const first = await train({ evaluate, callbacks: stop });
    expect(first.evaluated.slice(0, 2).map(({ step }) => step)).toEqual([0, 30]);
    const second = await train({ evaluate, resume: true });
    expect(second.evaluated.map(({ step }) => step)).toEqual([0, 60]);
    expect(second.evaluated[0]).toEqual(first.evaluated[0]);
    expect(second.notes.join()).not.toContain("asking the model");
  });

  it.each<[Partial<TrainerOptions>, RegExp]>([
    [{ evalDataset: undefined, evaluate: { metrics: { exact } } }, /"evaluate" needs rows to ask/],
    [{ evaluate: { metrics: {} } }, /"evaluate\.metrics" must be functions by name/],
    [
      { evaluate: { metrics: { exact: 1 as never } } },
      /"evaluate\.metrics\.exact" must be a funct/,
    ],
    [
      { evaluate: { metrics: { exact }, row: 1 } as never },
      /"evaluate\.row"\. Did you mean "rows"\?/,
    ],
    [{ metricForBestModel: "f1" }, /"metricForBestModel" must be one of evalLoss, but is "f1"/],
  ])("%j is refused", (more, message) => {
    expect(() => createTinyTrainer({ ...LEARNS, ...more })).toThrow(message);
  });

  it("is written to the job's record by its names", async () => {
    const project = enterProject();
    const { jobId } = await train({ maxSteps: 1, evaluate: { metrics: { exact }, rows: 2 } });
    const job = JSON.parse(readFileSync(join(project, ".kit/jobs", jobId, "job.json"), "utf8")) as {
      config: object;
    };
    expect(job.config).toMatchObject({ evaluate: { metrics: ["exact"], rows: 2 } });
  });
});
