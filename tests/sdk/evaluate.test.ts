import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type JobEvent, EVALUATED, EVALUATING } from "../../protocol/event.ts";
import type { EvaluatedContext, TrainerOptions } from "../../sdk/index.ts";
import { createEvaluation } from "../../sdk/job/evaluation.ts";
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
async function train(more: Partial<TrainerOptions>, notes: string[] = []) {
  const trainer = createTinyTrainer({ ...LEARNS, ...more });
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

afterEach(() => {
  vi.useRealTimers();
});

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
    const told = events.filter(({ event }) => event !== EVALUATING);
    expect(told.slice(0, 2).map(({ event }) => event)).toEqual(["training.started", EVALUATED]);
    expect(events[0]).toMatchObject({ event: EVALUATING, data: { step: 0, answered: 0, rows: 4 } });
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
    expect(notes).toContain("evaluating the starting model on 4 held-out rows");
  });

  it("says that it asks when that takes longer than the training, and calls no callback so", async () => {
    enterProject();
    vi.useFakeTimers({ toFake: ["setInterval"] });
    const notes: string[] = [];
    const note = /^evaluating step 2 on 4 held-out rows: 4 of 4, /;
    const isTold = () => notes.some((one) => note.test(one));
    let answers = 0;
    const metric = async () => {
      const isLast = ++answers > HELD.length;
      for (let n = 0; isLast && n < 100 && !isTold(); n++) {
        await delay(50);
        vi.advanceTimersByTime(10_000);
      }
      return 1;
    };
    const more = { maxSteps: 2, saveSteps: 2, evaluate: { metrics: { metric } } };
    const { error } = await train(more, notes);
    expect(error).toBeUndefined();
    expect(isTold()).toBe(true);
    expect(notes.join()).not.toContain("callback");
  });

  it("reads no more of an answer than the longest right one needs, and a quarter more", async () => {
    enterProject();
    const lengths: number[] = [];
    // A byte that begins no character is one, too.
    const metric = ({ output }: { output: string }) => lengths.push([...output].length);
    const more = { maxSteps: 1, saveSteps: 1, evaluate: { metrics: { metric } } };
    expect((await train(more)).error).toBeUndefined();
    // Random weights hardly ever end an answer: it is cut after its 1.25 × ("<bos>even<eos>") tokens.
    expect(Math.max(...lengths)).toBe(8);
  });

  it("says now and then how far the asking before the training is", async () => {
    enterProject({ "rows.jsonl": HELD.map((row) => JSON.stringify(row)).join("\n") });
    vi.useFakeTimers({ toFake: ["setInterval"] });
    const notes: string[] = [];
    const reports: object[] = [];
    const path = "rows.jsonl";
    const { config } = (createTinyTrainer({ evalDataset: { path } }) as DrivenTrainer)[DRIVER]
      .prepared;
    let answered = 0;
    const infer = async () => {
      await delay(1);
      if (answered++ === 1) vi.advanceTimersByTime(10_000);
      return { text: "", finishReason: "stop", tokens: 1 } as const;
    };
    const evaluation = await createEvaluation(
      {
        owned: { directory: join(process.cwd(), ".kit/jobs/x") },
        engine: { load: async () => Promise.resolve({ infer, close: () => {} }) },
        signal: new AbortController().signal,
        record: ({ data }: JobEvent) => reports.push(data),
        observer: { onNote: (note: string) => notes.push(note) },
      } as never,
      { ...config, dataset: { type: "jsonl", path }, evalDataset: { type: "jsonl", path } },
      { metrics: ["exact"], rows: 100 },
      { exact },
    );
    await evaluation.evaluateInitialModel();
    expect(reports[0]).toEqual({ step: 0, answered: 0, rows: 4 });
    expect(reports.at(-1)).toEqual({ step: 0, answered: 4, rows: 4, secondsLeft: 0 });
    expect(notes[1]).toMatch(/^evaluated [1-3] of 4$/);
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
      expect(notes[0]).toBe("evaluating the starting model on 3 of 6 held-out rows");
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
    expect(texts.error?.message).toMatch(/^No held-out row has a text answer/);
  });

  it("is resumed with the figures of the start, and asks its own checkpoints", async () => {
    enterProject();
    const evaluate = { metrics: { accuracy: exact } };
    const stop = {
      onCheckpoint: ({ step }: { step: number }) => {
        if (step === 30) throw new Error("stop");
      },
    };
    const first = await train({ evaluate, maxSteps: 30, callbacks: stop });
    expect(first.evaluated.slice(0, 2).map(({ step }) => step)).toEqual([0, 30]);
    const seen: number[] = [];
    const onEvaluated = ({ step }: EvaluatedContext) => void seen.push(step);
    const second = await train({ evaluate, callbacks: { onEvaluated }, resume: true });
    expect(second.evaluated.map(({ step }) => step)).toEqual([0, 30, 60]);
    expect(second.evaluated.slice(0, 2)).toEqual(first.evaluated);
    expect(second.notes.join()).not.toContain("on 4 held-out rows");
    expect(seen).toEqual([0, 60]);
  });

  it("is resumed with a word on the checkpoint that the job of before did not come to ask", async () => {
    enterProject();
    let answers = 0;
    const accuracy = () => {
      if (++answers > HELD.length) throw new Error("judge is away");
      return 0;
    };
    const best = { metricForBestModel: "accuracy", loadBestModelAtEnd: true };
    const first = await train({ ...best, maxSteps: 30, evaluate: { metrics: { accuracy } } });
    expect(first.error?.message).toContain("judge is away");
    const evaluate = { metrics: { accuracy: exact } };
    const second = await train({ ...best, evaluate, resume: true });
    expect(second.notes).toContain(
      `warning: step 30 was not evaluated by job ${first.jobId}, so it cannot be the best`,
    );
    expect(second.evaluated.map(({ step }) => step)).toEqual([0, 60]);
    expect(second.events.at(-1)?.data.artifacts).toMatchObject([{ step: 60, best: true }]);
  });

  it("a resume counts what it takes over once for earlyStoppingPatience", async () => {
    enterProject();
    let asked = 0;
    const options = {
      ...{ metricForBestModel: "rising", loadBestModelAtEnd: true, earlyStoppingPatience: 1 },
      evaluate: { metrics: { rising: () => asked++ } },
    };
    const onCheckpoint = ({ step }: { step: number }) => {
      if (step === 30) throw new Error("stop");
    };
    await train({ ...options, maxSteps: 30, callbacks: { onCheckpoint } });
    const second = await train({ ...options, maxSteps: 90, resume: true });
    // The figure of the start, recorded again, is no worse one after the best.
    expect(second.error).toBeUndefined();
    expect(second.evaluated.map(({ step }) => step)).toEqual([0, 30, 60, 90]);
    expect(second.events.at(-1)?.data).not.toHaveProperty("stoppedAt");
  });

  it("leaves out a held-out row that does not fit into the model, and says so once", async () => {
    enterProject();
    const { error, evaluated, notes } = await train({
      evalDataset: [...HELD, { prompt: "9".repeat(100), completion: "odd" }],
      ...{ maxSteps: 2, saveSteps: 1, evaluate: { metrics: { exact } } },
    });
    expect(error).toBeUndefined();
    expect(evaluated.map(({ rows }) => rows)).toEqual([4, 4, 4]);
    expect(notes.filter((note) => note.includes("refused by the model"))).toEqual([
      expect.stringMatching(/^warning: 1 row refused by the model: The prompt is too long: its /),
    ]);
  });

  it("leaves a metric that never settles when the job is cancelled", async () => {
    enterProject();
    const abort = new AbortController();
    const stuck = () => {
      abort.abort();
      return new Promise<number>(() => {});
    };
    const { events, error } = await train({
      ...{ evaluate: { metrics: { stuck } }, abortSignal: abort.signal },
    });
    expect(events.at(-1)?.event).toBe("training.cancelled");
    expect(error).toBeUndefined();
  });

  it.each<[Partial<TrainerOptions>, RegExp]>([
    [
      { evalDataset: undefined, evaluate: { metrics: { exact } } },
      /"evaluate" needs held-out rows/,
    ],
    [{ evaluate: { metrics: {} } }, /"evaluate\.metrics" must be functions by name/],
    [
      { evaluate: { metrics: { exact: 1 as never } } },
      /"evaluate\.metrics\.exact" must be a funct/,
    ],
    [
      { evaluate: { metrics: { exact }, row: 1 } as never },
      /"evaluate\.row"\. Did you mean "rows"\?/,
    ],
    [
      { evalDataset: { path: "s3://bucket/held.jsonl" }, evaluate: { metrics: { exact } } },
      /"evaluate" needs rows on this machine, but s3:\/\/bucket\/held\.jsonl is a URL\./,
    ],
    [{ metricForBestModel: "f1" }, /"metricForBestModel" must be one of evalLoss, but is "f1"/],
    [
      { metricForBestModel: "exactly", evaluate: { metrics: { exact } } },
      /"metricForBestModel" must be one of evalLoss, exact, but is "exactly"/,
    ],
    [{ evaluate: { metrics: { "a b": exact } } }, /"evaluate\.metrics\.a b" must be a name of let/],
    [{ evaluate: { metrics: { evalLoss: exact } } }, /must be a name .*, and is not evalLoss/],
    [{ evaluate: { metrics: { ["\u001b[31m"]: exact } } }, /must be a name of letters/],
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
