import { cpSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type TrainerOptions, createTrainer, loadModel } from "kit";
import { python } from "kit/engines";
import { describe, expect, it } from "vitest";
import { ENV, PYTHON, hasPython } from "./engines/python/environment.ts";
import { runKit } from "./kit.ts";
import { enterProject, readEvents } from "./sdk/project.ts";
import { parseFrames, startServer } from "./uiServer.ts";

/**
 * Jobs of the Kit of commit 3ea25b0, byte for byte. Their models are tiny, and learned 40 rows of the
 * quickstart. `FAILED` and `PYTHON_FAILED` failed in the callback of step 200, of 400.
 */
const FAILED = "20261123-203448-053-n6q8";
const COMPLETED = "20261123-203449-056-ghqj";
const ADAPTER = "20261123-203450-732-u6s6";
const PYTHON_FAILED = "20261123-203452-510-smjk";

/** What that Kit logged from step 250 on when nothing stopped it; of the Python engine at step 250. */
const LOSSES = { 250: 1.576209, 300: 1.42836, 350: 1.353265, 400: 1.307406 };
const PYTHON_LOSS = 3.90751;

const DATASET = { type: "jsonl", path: "train.jsonl" } as const;
const STEPS = { maxSteps: 400, saveSteps: 200, loggingSteps: 50, saveTotalLimit: 1 };
const WHOLE: TrainerOptions = {
  ...{ name: "whole", dataset: DATASET, ...STEPS, resume: true },
  ...{ model: { layers: 1, heads: 1, width: 8, context: 64 }, batchSize: 2 },
  ...{ evalSplit: 0.2, evalSteps: 100, loadBestModelAtEnd: true },
};
const PYTHON_ADAPTER: TrainerOptions = {
  ...{ name: "python", dataset: DATASET, ...STEPS, resume: true },
  ...{ model: { layers: 1, heads: 2, width: 16, context: 64 }, batchSize: 4 },
  ...{ lora: { r: 8, alpha: 32, targetModules: "all-linear" }, learningRate: 0.02 },
};

function enterEarlierProject(...jobs: string[]): string {
  const project = enterProject();
  const files = fileURLToPath(new URL("earlierFiles", import.meta.url));
  cpSync(join(files, "train.jsonl"), join(project, "train.jsonl"));
  for (const id of jobs) {
    cpSync(join(files, "jobs", id), join(project, ".kit/jobs", id), { recursive: true });
  }
  return project;
}

/** Of each logged step; another machine or Node may round the last digits otherwise. */
function expectLosses(project: string, jobId: string, losses: Record<number, number>): void {
  const logs = readEvents(project, jobId).filter(({ event }) => event === "training.log");
  const logged = logs.map(({ data }) => [data.step, data.loss] as [number, number]);
  expect(logged.map(([step]) => step)).toEqual(Object.keys(losses).map(Number));
  for (const [step, loss] of logged) expect(loss).toBeCloseTo(losses[step]!, 3);
}

describe("what an earlier Kit wrote", () => {
  it("a failed job is resumed, with the losses of one that never stopped", async () => {
    const project = enterEarlierProject(FAILED);
    const { job, artifacts } = await createTrainer(WHOLE).wait();
    expect(readEvents(project, job.id)[0]?.data).toMatchObject({
      resumedFrom: FAILED,
      resumedStep: 200,
      resumedBest: { step: 200 },
    });
    expectLosses(project, job.id, LOSSES);
    expect(artifacts.at(-1)).toMatchObject({ step: 400, best: true });
  });

  it.runIf(hasPython)("so is one of the Python engine, with its adapter", async () => {
    const project = enterEarlierProject(PYTHON_FAILED);
    const stop = new AbortController();
    const trainer = createTrainer({
      ...PYTHON_ADAPTER,
      engine: python({ path: PYTHON, env: ENV }),
      abortSignal: stop.signal,
      // Up to here is enough, and the schedule is of all steps.
      callbacks: { onLog: () => stop.abort() },
    });
    const { job } = await trainer.wait();
    const events = readEvents(project, job.id);
    expect(events[0]?.data).toMatchObject({ resumedFrom: PYTHON_FAILED, resumedStep: 200 });
    const [first] = events.filter(({ event }) => event === "training.log");
    expect(first?.data.step).toBe(250);
    expect(first?.data.loss).toBeCloseTo(PYTHON_LOSS, 2);
  });

  it.each([
    ["whole model", COMPLETED, "step-400", "2019-0201", "202-0202-0"],
    ["adapter", ADAPTER, "step-400", "2020-0", "2020"],
    ["Python engine's adapter", PYTHON_FAILED, "step-200", /^20\uFFFD{8}$/, /^20\uFFFD{8}$/],
  ])("a saved %s answers as it did", async (_, job, checkpoint, first, second) => {
    const project = enterEarlierProject(job);
    const model = await loadModel(join(project, ".kit/jobs", job, "artifacts", checkpoint));
    const answers = ["2001/02/11", "April 25, 2001"].map((prompt) => model.infer({ prompt }));
    const [one, two] = (await Promise.all(answers)).map(({ text }) => text);
    await model.close();
    expect(one).toMatch(first);
    expect(two).toMatch(second);
  });

  it("an adapter is exported", async () => {
    const project = enterEarlierProject(ADAPTER);
    expect(await runKit(project, ["export", ADAPTER, "whole"])).toMatchObject({ code: 0 });
    const model = await loadModel(join(project, "whole"));
    expect(await model.infer({ prompt: "2001/02/11" })).toMatchObject({ text: "2020-0" });
    await model.close();
  });

  it("jobs are listed, and their logs read", async () => {
    const project = enterEarlierProject(COMPLETED, FAILED);
    const { stdout } = await runKit(project, ["jobs"]);
    expect(stdout).toMatch(RegExp(`completed .*${COMPLETED}.*whole\\n.*failed .*${FAILED}`));
    const { url } = await startServer({ project });
    const frames = parseFrames(await (await fetch(`${url}api/jobs/${COMPLETED}/events`)).text());
    const data = frames.filter(({ event }) => event === "training.log").map((frame) => frame.data);
    const logs = data.map((text) => JSON.parse(text ?? "") as { step: number; loss: number });
    expect(logs.slice(-4)).toMatchObject(
      Object.entries(LOSSES).map(([step, loss]) => ({ step: Number(step), loss })),
    );
    expect(frames.slice(-2)).toMatchObject([{ event: "training.completed" }, { event: "end" }]);
  });
});
