import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TrainerOptions } from "kit";
import { describe, expect, it, vi } from "vitest";
import { createOwnedJob } from "../../jobs/ownedJob.ts";
import {
  ENDLESS,
  awaited,
  createTinyTrainer,
  enterProject,
  jobsOf,
  readEvents,
  statusOf,
} from "./project.ts";
import { runOptions } from "./runOptions.ts";

describe("start", () => {
  it("creates one job, however often and by whichever method it is called", async () => {
    const project = enterProject();
    const trainer = createTinyTrainer();
    const [first, second] = await Promise.all([trainer.start(), trainer.start()]);
    const { job } = await trainer.wait();
    expect(second).toEqual(first);
    expect(await trainer.start()).toEqual(first);
    expect(job).toMatchObject({ id: first.jobId, name: "tiny", status: "completed" });
    expect(jobsOf(project)).toEqual([job]);
  });

  it("writes the job with its config before it resolves", async () => {
    const project = enterProject();
    const trainer = createTinyTrainer({ seed: 7, abortSignal: AbortSignal.abort() });
    const { jobId } = await trainer.start();
    const file = JSON.parse(
      readFileSync(join(project, ".kit/jobs", jobId, "job.json"), "utf8"),
    ) as object;
    expect(file).toMatchObject({
      id: jobId,
      name: "tiny",
      config: { seed: 7, dataset: { path: join(project, "data.jsonl") } },
    });
    await trainer.wait();
  });

  it("rejects when there is nowhere to write the job, and can be called again", async () => {
    const project = enterProject({ ".kit": "a file" });
    const trainer = createTinyTrainer();
    await expect(trainer.start()).rejects.toMatchObject({
      code: "CANNOT_WRITE",
      message: expect.stringContaining(`Cannot create a job in ${join(project, ".kit", "jobs")}`),
    });
    await expect(trainer.wait()).rejects.toMatchObject({ code: "CANNOT_WRITE" });
  });
});

describe("a job fails with a message that says what to do", () => {
  it.each<[string, string | null, Partial<TrainerOptions>, RegExp]>([
    ["the dataset is missing", null, {}, /Cannot read the dataset .*rows\.jsonl: there is no such/],
    ["the dataset is empty", "\n\n", {}, /rows\.jsonl has no rows\. Write one of/],
    ["a line is not JSON", '{"text":"a"}\n{oops\n', {}, /rows\.jsonl:2:2: not valid JSON: a word/],
    ["a line has no known key", '\n\n{"texts":"a"}', {}, /rows\.jsonl:3: no "messages", "prompt"/],
    [
      "the model's path is wrong",
      '{"text":"a"}',
      { model: "./none" },
      /There is no checkpoint at \/.*\/none\. Name a directory/,
    ],
  ])("when %s", async (_, data, options, message) => {
    const project = enterProject(data === null ? {} : { "rows.jsonl": data });
    const dataset = { type: "jsonl", path: "rows.jsonl" } as const;
    const onFailed = vi.fn();
    const trainer = createTinyTrainer({ dataset, ...options, callbacks: { onFailed } });
    const { jobId } = await trainer.start();
    const error = await trainer.wait().catch((thrown: unknown) => thrown as Error);
    expect(error).toMatchObject({ message: expect.stringMatching(message) });
    expect(readEvents(project, jobId)).toMatchObject([
      { event: "training.failed", data: { error: (error as Error).message } },
    ]);
    expect(statusOf(project, jobId)).toMatchObject({
      job: { status: "failed" },
      error: (error as Error).message,
    });
    expect(onFailed).toHaveBeenCalledOnce();
    expect(onFailed).toHaveBeenCalledWith({
      job: expect.objectContaining({ id: jobId, status: "failed" }),
      error,
    });
  });
});

describe("two trainers of a project", () => {
  it("train one after the other, in the order they were started", async () => {
    const project = enterProject();
    const log = awaited<unknown>();
    const first = createTinyTrainer({ ...ENDLESS, name: "a", callbacks: { onLog: log.callback } });
    const started = vi.fn();
    const second = createTinyTrainer({ name: "b", callbacks: { onStarted: started } });
    const { jobId } = await first.start();
    // Ids sort by the millisecond.
    await log.call;
    const { jobId: secondId } = await second.start();
    expect(statusOf(project, jobId)?.job.status).toBe("running");
    expect(statusOf(project, secondId)?.job.status).toBe("queued");
    expect(started).not.toHaveBeenCalled();
    await first.cancel();
    const { job } = await second.wait();
    expect(job.status).toBe("completed");
    const [ended, begun] = [jobId, secondId].map((id, index) =>
      readFileSync(join(project, ".kit/jobs", id, "events.ndjson"), "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => (JSON.parse(line) as { time: string }).time)
        .at(index - 1),
    );
    expect(ended! <= begun!).toBe(true);
  });

  it("leave the queue when they are cancelled there", async () => {
    const project = enterProject();
    const log = awaited<unknown>();
    const first = createTinyTrainer({ ...ENDLESS, callbacks: { onLog: log.callback } });
    await first.start();
    await log.call;
    const onCancelled = vi.fn();
    const second = createTinyTrainer({ callbacks: { onCancelled } });
    const { jobId } = await second.start();
    await second.cancel();
    expect(readEvents(project, jobId)).toMatchObject([{ event: "training.cancelled" }]);
    expect(onCancelled).toHaveBeenCalledOnce();
    expect(jobsOf(project).map(({ status }) => status)).toEqual(["cancelled", "running"]);
    await first.cancel();
  });
});

it("the same seed gives the same losses, another seed others", async () => {
  enterProject();
  const lossesWith = async (seed: number) => {
    const losses: number[] = [];
    const trainer = createTinyTrainer({
      seed,
      callbacks: { onLog: ({ loss }) => void losses.push(loss) },
    });
    await trainer.wait();
    return losses;
  };
  const losses = await lossesWith(1);
  expect(losses).toHaveLength(4);
  expect(await lossesWith(1)).toEqual(losses);
  expect(await lossesWith(2)).not.toEqual(losses);
});

it("an adapter is trained with lora, and names its base", async () => {
  const project = enterProject();
  const trainer = createTinyTrainer({ maxSteps: 1, lora: { r: 2, alpha: 4 } });
  const { job, artifacts } = await trainer.wait();
  const directory = join(project, ".kit/jobs", job.id, "artifacts/step-1");
  const saved = { step: 1, kind: "adapter", path: "artifacts/step-1" };
  expect(artifacts).toEqual([{ ...saved, directory, fetch: expect.any(Function) as unknown }]);
  // Readers get the same wherever the project lies.
  const [, , checkpoint, completed] = readEvents(project, job.id);
  expect([checkpoint?.data, completed?.data]).toEqual([saved, { artifacts: [saved] }]);
});

it("a log that can no longer be written fails the job with where and why", async () => {
  const project = enterProject();
  const broken = Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
  const { runJob } = await import("../../sdk/job/runJob.ts");
  const owned = createOwnedJob(project, "tiny", {} as never);
  const result = await runJob({
    owned: {
      ...owned,
      append() {
        throw broken;
      },
    },
    ...runOptions({
      name: "mine",
      train: ({ onEvent }) => {
        onEvent({
          event: "checkpoint.saved",
          data: { step: 1, kind: "model", path: "artifacts/a" },
        });
        return Promise.resolve();
      },
      load: () => Promise.reject(new Error("unused")),
    }),
    callbacks: {},
  });
  expect(result.job.status).toBe("failed");
  expect(result.error?.message).toBe(
    `Cannot write the job's log in ${owned.directory}: no space left on device. Make the folder writable, or free disk space.`,
  );
});
