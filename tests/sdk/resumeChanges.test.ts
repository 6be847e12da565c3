import { existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TrainerOptions } from "kit";
import { describe, expect, it, onTestFinished } from "vitest";
import { KitError } from "../../protocol/error.ts";
import { resolveConfig } from "../../sdk/job/config.ts";
import { planResume } from "../../sdk/job/resume.ts";
import { type DrivenTrainer, DRIVER } from "../../sdk/trainer.ts";
import { createTinyTrainer, enterProject, jobsOf, readEvents } from "./project.ts";
import { DAMAGED, STATE, createScriptedEngine } from "./scriptedEngine.ts";

const OPTIONS = {
  engine: createScriptedEngine(),
  maxSteps: 8,
  saveSteps: 2,
  evalSteps: 2,
  evalDataset: { type: "jsonl", path: "heldout.jsonl" },
} satisfies Partial<TrainerOptions>;

function enter(): string {
  return enterProject({ "heldout.jsonl": '{"text":"held out"}' });
}

function trainer(options: Partial<TrainerOptions> = {}) {
  const trainer = createTinyTrainer({ ...OPTIONS, ...options }) as DrivenTrainer;
  const notes: string[] = [];
  trainer[DRIVER].observe({ onNote: (text) => notes.push(text) });
  return { trainer, notes };
}

/** Runs a trainer to its end. */
async function train(options: Partial<TrainerOptions> = {}) {
  const { trainer: some, notes } = trainer(options);
  const { jobId } = await some.start();
  const { error } = await some.wait().then(
    () => ({ error: undefined }),
    (thrown: unknown) => ({ error: thrown }),
  );
  const log = readEvents(process.cwd(), jobId);
  return { jobId, notes, error, log, started: log[0]?.data, end: log.at(-1) };
}

/** A job that fails once step 6 is saved. */
function failed(options: Partial<TrainerOptions> = {}) {
  const callbacks: TrainerOptions["callbacks"] = {
    async onCheckpoint({ step }) {
      if (step === 6) throw new Error("the machine burns");
      await Promise.resolve();
    },
  };
  return train({ ...options, callbacks });
}

function artifactsOf(jobId: string): string {
  return join(process.cwd(), ".kit/jobs", jobId, "artifacts");
}

/** The newest checkpoint, which may be one after step 6: the engine does not wait for callbacks. */
function newestOf(jobId: string): number {
  return Math.max(...readdirSync(artifactsOf(jobId)).map((name) => Number(name.slice(5))));
}

describe("a resume that makes no sense fails with one clear sentence, and leaves no job behind", () => {
  it.each([
    [{ maxSteps: 4 }, /^Job .* is at step \d already, and training now ends at step 4\. Raise/],
    [{ model: "kit/nano" }, /^model changed since job .*, so it cannot be resumed\. Undo the /],
    [{ lora: { r: 1, alpha: 1 } }, /^lora changed since job /],
    [{ engine: createScriptedEngine({ name: "other" }) }, /^engine changed since job /],
  ] as const)("%j", async (options, message) => {
    enter();
    await failed();
    const again = trainer({ ...options, resume: true }).trainer;
    await expect(again.start()).rejects.toMatchObject({
      code: "CANNOT_RESUME",
      message: expect.stringMatching(message) as string,
    });
    expect(jobsOf(process.cwd())).toHaveLength(1);
  });

  it("while another job goes on from the same one", async () => {
    const project = enter();
    const { jobId } = await failed();
    const config = trainer({ resume: true }).trainer[DRIVER].prepared.config;
    // A third, which has looked at the same time as the second.
    const third = planResume(project, "tiny", resolveConfig(config, project));
    const gate = withResolvers();
    onTestFinished(gate.resolve);
    const second = trainer({ resume: true, callbacks: { onStarted: () => gate.promise } });
    const { jobId: twin } = await second.trainer.start();
    const refused = {
      code: "CANNOT_RESUME",
      message: `Job ${twin} is resuming job ${jobId} already. Wait until that one ends, or start without resume.`,
    };
    await expect(trainer({ resume: true }).trainer.start()).rejects.toMatchObject(refused);
    expect(() => third.refuseConcurrent("20260101-000000-000-self")).toThrow(refused.message);
    expect(() => third.refuseConcurrent(twin)).not.toThrow();
    expect(jobsOf(project)).toHaveLength(2);
    gate.resolve();
    await second.trainer.wait();
    expect(() => third.find(() => {})).toThrow(
      `Job ${jobId} can no longer be resumed: another job continued it, or it was deleted. Start without resume to begin again.`,
    );
  });
});

describe("a resume", () => {
  it("at the last step says that only the end is left; past it, the job fails", async () => {
    enter();
    const options = { maxSteps: undefined, numTrainEpochs: 6 };
    const first = await failed(options);
    const past = await train({ ...options, numTrainEpochs: 5, resume: true });
    expect(past.error).toMatchObject({
      message: `Job ${first.jobId} is at step 6 already, and training now ends at step 5. Raise maxSteps or numTrainEpochs, or start without resume.`,
    });
    expect(past.log).toHaveLength(1);
    const { notes, end } = await train({ ...options, resume: true });
    expect(notes).toContain(`job ${first.jobId} had trained all 6 steps; only completing it`);
    expect(end?.event).toBe("training.completed");
  });

  it("compares the rows, not where they are: a project may move", async () => {
    const project = enter();
    mkdirSync(join(project, "base"));
    const { jobId } = await failed({ model: "./base" });
    const moved = `${project}-moved`;
    renameSync(project, moved);
    process.chdir(moved);
    onTestFinished(() => renameSync(moved, project));
    const again = await train({ model: "./base", resume: true });
    expect(again.notes).toEqual([`resuming job ${jobId} after step ${newestOf(jobId)}`]);
    expect(again.started).toHaveProperty("resumedBest");

    const other = await failed();
    writeFileSync("data.jsonl", '{"text":"other rows"}');
    expect((await train({ resume: true })).notes.slice(1)).toEqual([
      `warning: the dataset changed since job ${other.jobId}; losses will differ from an uninterrupted run`,
    ]);
  });

  it("looks for the best anew once the held-out rows have changed, and so do later ones", async () => {
    enter();
    const best = { loadBestModelAtEnd: true };
    const engine = createScriptedEngine({ evalLossAt: (step) => step });
    const first = await failed({ ...best, engine });
    writeFileSync("heldout.jsonl", '{"text":"other rows"}');
    const second = await failed({ ...best, engine, resume: true, maxSteps: 12 });
    expect(second.notes).toContain(
      `warning: the held-out rows changed since job ${first.jobId}; its evaluations don't count towards the best`,
    );
    expect(second.started).not.toHaveProperty("resumedBest");
  });

  it("takes the newest checkpoint that is whole, and says which it skipped", async () => {
    enter();
    const { jobId } = await failed({ maxSteps: 6 });
    const path = (step: number) => join(artifactsOf(jobId), `step-${step}`);
    writeFileSync(join(path(6), DAMAGED), "");
    const { notes, started, end } = await train({ maxSteps: 6, resume: true });
    expect(notes).toContain(
      `warning: skipping a damaged checkpoint, and resuming after step 4: ${path(6)}/weights is cut off. Use a checkpoint that Kit saved.`,
    );
    expect(started).toMatchObject({ resumedFrom: jobId, resumedStep: 4 });
    expect(end?.event).toBe("training.completed");
  });

  it("blames no checkpoint for the model that it belongs to", async () => {
    enter();
    const { jobId } = await failed();
    const gone = new KitError("CHECKPOINT_INVALID", `${artifactsOf(jobId)}/step-6 lost its base.`);
    const engine = { ...createScriptedEngine(), train: () => Promise.reject(gone) };
    const { error, notes } = await train({ engine, resume: true });
    expect(error).toBe(gone);
    expect(notes.join()).not.toContain("damaged");
  });

  it("fails when no checkpoint is whole", async () => {
    enter();
    const { jobId } = await failed();
    for (const name of readdirSync(artifactsOf(jobId))) {
      writeFileSync(join(artifactsOf(jobId), name, DAMAGED), "");
    }
    const { error } = await train({ resume: true });
    expect(error).toMatchObject({
      code: "CANNOT_RESUME",
      message: expect.stringMatching(
        /^Every checkpoint of job .* is damaged: .*step-2\/weights is cut off\. Use a checkpoint that Kit saved\. Start without resume\.$/,
      ) as string,
    });
  });
});

it("keeps what only a resume needs in the newest checkpoint of a job that has not completed", async () => {
  enter();
  const has = (jobId: string) =>
    readdirSync(artifactsOf(jobId)).flatMap((name) =>
      existsSync(join(artifactsOf(jobId), name, STATE)) ? [name] : [],
    );
  const first = await failed({ maxSteps: 6 });
  expect(has(first.jobId)).toEqual(["step-6"]);
  const second = await train({ maxSteps: 10, loadBestModelAtEnd: true, resume: true });
  expect(second.end?.event).toBe("training.completed");
  expect(has(second.jobId)).toEqual([]);
});

/** As `Promise.withResolvers`, which Node 20 lacks. */
function withResolvers() {
  let resolve!: () => void;
  const promise = new Promise<void>((settle) => (resolve = settle));
  return { promise, resolve };
}
