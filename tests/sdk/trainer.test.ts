import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { TrainerOptions } from "kit";
import { loadModel } from "kit";
import { describe, expect, it, vi } from "vitest";
import { createJobStore } from "../../jobs/store.ts";
import { createTinyTrainer, enterProject, readEvents } from "./project.ts";

type Callbacks = NonNullable<TrainerOptions["callbacks"]>;

/** More steps than a test waits for. */
const ENDLESS = { maxSteps: 1_000_000, saveSteps: 1_000_000, loggingSteps: 10 };

function statusOf(project: string, jobId: string) {
  return createJobStore(project).get(jobId);
}

function jobsOf(project: string) {
  return createJobStore(project).list();
}

/** A function to be a callback, and a promise of its first call's argument. */
function awaited<T>() {
  let resolveCall: ((context: T) => void) | undefined;
  const call = new Promise<T>((resolve) => (resolveCall = resolve));
  return { call, callback: (context: T) => resolveCall?.(context) };
}

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
      config: { seed: 7, dataset: { path: join(project, "data.jsonl") }, lora: null },
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
    ["the dataset is empty", "\n\n", {}, /rows\.jsonl has no rows: write one of/],
    ["a line is not JSON", '{"text":"a"}\n{oops\n', {}, /rows\.jsonl:2: not valid JSON; expected/],
    ["a line has no known key", '\n\n{"texts":"a"}', {}, /rows\.jsonl:3: no "messages", "prompt"/],
    ["the model's path is wrong", "", { model: "./none" }, /No checkpoint at \/.*\/none: expected/],
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

describe("callbacks", () => {
  it("are called in order, with what the log holds already", async () => {
    const project = enterProject();
    const calls: [name: string, context: Record<string, unknown>][] = [];
    const unseen: string[] = [];
    const see = (name: string, event: string) => (context: { job: { id: string } }) => {
      calls.push([name, context]);
      const { step } = context as { step?: number };
      const isLogged = readEvents(project, context.job.id).some(
        (logged) => logged.event === event && (step === undefined || logged.data.step === step),
      );
      if (!isLogged) unseen.push(name);
    };
    const trainer = createTinyTrainer({
      callbacks: {
        onStarted: see("onStarted", "training.started"),
        onLog: see("onLog", "training.log"),
        onCheckpoint(context) {
          see("onCheckpoint", "checkpoint.saved")(context);
          const path = join(project, ".kit/jobs", context.job.id, context.artifacts.at(-1)!.path);
          if (!existsSync(join(path, "model.safetensors"))) unseen.push(path);
        },
        onCompleted: ({ job, artifacts }) => void calls.push(["onCompleted", { job, artifacts }]),
        onFailed: see("onFailed", "training.failed"),
        onCancelled: see("onCancelled", "training.cancelled"),
      },
    });
    const { jobId } = await trainer.start();
    const { job, artifacts } = await trainer.wait();

    expect(unseen).toEqual([]);
    expect(calls.map(([name, { step }]) => (step ? `${name} ${step as number}` : name))).toEqual([
      "onStarted",
      "onLog 1",
      "onLog 2",
      "onCheckpoint 2",
      "onLog 3",
      "onLog 4",
      "onCheckpoint 4",
      "onCompleted",
    ]);
    const [saved, result] = [2, 4].map((step) => ({
      step,
      kind: "model",
      path: `artifacts/step-${step}`,
    }));
    expect(artifacts).toEqual([saved, result]);
    const running = { id: jobId, name: "tiny", status: "running", createdAt: job.createdAt };
    expect(calls[0]).toEqual(["onStarted", { job: running }]);
    expect(calls[1]).toEqual([
      "onLog",
      {
        job: running,
        step: 1,
        loss: expect.any(Number),
        learningRate: expect.closeTo(0.004 / 20),
        gradNorm: expect.any(Number),
        epoch: 0.25,
        tokensPerSecond: expect.any(Number),
      },
    ]);
    expect(calls[3]?.[1]).toMatchObject({ job: running, artifacts: [saved] });
    expect(calls[6]?.[1]).toMatchObject({ artifacts: [saved, result] });
    expect(calls[7]?.[1]).toEqual({ job: { ...running, status: "completed" }, artifacts });
  });

  it("wait for the one before, while training goes on", async () => {
    const project = enterProject();
    const trainingIsDone = () => {
      const events = readEvents(project, jobId).map(({ event }) => event);
      return events.filter((event) => event === "checkpoint.saved").length === 2;
    };
    const order: string[] = [];
    const trainer = createTinyTrainer({
      callbacks: {
        async onStarted() {
          await vi.waitUntil(trainingIsDone, { timeout: 20_000 });
          order.push("onStarted");
        },
        onLog: ({ step }) => void order.push(`onLog ${step}`),
      },
    });
    const { jobId } = await trainer.start();
    await trainer.wait();
    expect(order).toEqual(["onStarted", "onLog 1", "onLog 2", "onLog 3", "onLog 4"]);
  });

  const broken = (message: string) => () => {
    throw new Error(message);
  };
  const rejecting = (message: string) => () => Promise.reject(new Error(message));
  const names = ["onStarted", "onLog", "onCheckpoint", "onCompleted"] as const;
  it.each(names.flatMap((name) => [broken, rejecting].map((how) => [name, how] as const)))(
    "fail the job when %s fails (%o)",
    async (name, how) => {
      const project = enterProject();
      const onFailed = vi.fn();
      const later = vi.fn();
      const after = Object.fromEntries(names.slice(names.indexOf(name)).map((n) => [n, later]));
      const callbacks: Callbacks = { ...after, [name]: how(`no ${name}`), onFailed };
      const trainer = createTinyTrainer({ callbacks });
      await expect(trainer.wait()).rejects.toThrow(`no ${name}`);
      const { jobId } = await trainer.start();
      expect(readEvents(project, jobId).at(-1)).toMatchObject({
        event: "training.failed",
        data: { error: `no ${name}` },
      });
      expect(onFailed).toHaveBeenCalledOnce();
      // An onLog may stand between the failing callback and those after it, but none follows.
      expect(later).not.toHaveBeenCalled();
    },
  );

  it("fail the job with words even when what they throw has none", async () => {
    const project = enterProject();
    const trainer = createTinyTrainer({
      callbacks: {
        onStarted() {
          // eslint-disable-next-line @typescript-eslint/only-throw-error -- what is tested
          throw undefined;
        },
      },
    });
    await expect(trainer.wait()).rejects.toThrow("undefined");
    const empty = createTinyTrainer({ callbacks: { onStarted: rejecting("") } });
    await expect(empty.wait()).rejects.toThrow();
    const { jobId } = await empty.start();
    expect(statusOf(project, jobId)?.error).toBe("Error without a message");
  });

  it("change nothing by failing when the job has ended already", async () => {
    const project = enterProject();
    const warnings = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const failed = createTinyTrainer({
      model: "./none",
      callbacks: { onFailed: rejecting("no onFailed") },
    });
    const cancelled = createTinyTrainer({ callbacks: { onCancelled: broken("no onCancelled") } });
    await cancelled.cancel();
    await expect(failed.wait()).rejects.toThrow("No checkpoint");
    expect((await cancelled.wait()).job.status).toBe("cancelled");
    expect(jobsOf(project).map(({ status }) => status)).toEqual(["cancelled", "failed"]);
    expect(warnings.mock.calls.map(([text]) => text)).toEqual([
      "onFailed failed: no onFailed",
      "onCancelled failed: no onCancelled",
    ]);
    warnings.mockRestore();
  });
});

describe("infer", () => {
  it("answers from the checkpoint, during its callback and after it", async () => {
    const project = enterProject();
    const answers: string[] = [];
    let keep: ((request: { prompt: string; maxTokens: number }) => Promise<{ text: string }>)[] =
      [];
    const request = { prompt: "1", maxTokens: 4 };
    const trainer = createTinyTrainer({
      callbacks: {
        async onCheckpoint({ infer }) {
          keep = [...keep, infer];
          answers.push((await infer(request)).text, (await infer(request)).text);
        },
        async onCompleted() {
          for (const infer of keep) answers.push((await infer(request)).text);
        },
      },
    });
    const { jobId } = await trainer.start();
    const { artifacts } = await trainer.wait();
    const expected: string[] = [];
    for (const { path } of artifacts) {
      const model = await loadModel(join(project, ".kit/jobs", jobId, path));
      expected.push((await model.infer(request)).text);
      await model.close();
    }
    const [first, second] = expected;
    expect(answers).toEqual([first, first, second, second, first, second]);
  });

  it("fails the job with its message when the callback does not catch it", async () => {
    enterProject();
    const trainer = createTinyTrainer({
      callbacks: {
        onCheckpoint: async ({ infer }) => void (await infer({ messages: [] })),
      },
    });
    await expect(trainer.wait()).rejects.toThrow(/messages/);
  });
});

describe("a wrong argument is one clear sentence", () => {
  it.each([
    [undefined, "infer takes { prompt } or { messages }, not undefined."],
    [{ prompt: "1", signal: "soon" }, "infer needs an AbortSignal as its signal."],
  ])("of a checkpoint's infer: %o", async (request, message) => {
    enterProject();
    const trainer = createTinyTrainer({
      maxSteps: 1,
      callbacks: { onCheckpoint: async ({ infer }) => void (await infer(request as never)) },
    });
    await expect(trainer.wait()).rejects.toMatchObject({ name: "KitError", message });
  });

  it("of loadModel", async () => {
    await expect(loadModel(undefined as never)).rejects.toMatchObject({
      name: "KitError",
      message: "loadModel takes the path of a checkpoint's directory, not undefined.",
    });
  });
});

describe("cancel", () => {
  it("before the start makes a job that is cancelled, and trains nothing", async () => {
    const project = enterProject();
    const onCancelled = vi.fn();
    const onStarted = vi.fn();
    const trainer = createTinyTrainer({ callbacks: { onCancelled, onStarted } });
    await trainer.cancel();
    await trainer.cancel();
    expect(readdirSync(project)).toEqual(["data.jsonl"]);
    const { jobId } = await trainer.start();
    const { job, artifacts } = await trainer.wait();
    expect(job).toMatchObject({ id: jobId, status: "cancelled" });
    expect(artifacts).toEqual([]);
    expect(readEvents(project, jobId)).toMatchObject([
      { event: "training.cancelled", data: { step: 0 } },
    ]);
    expect(onCancelled).toHaveBeenCalledOnce();
    expect(onCancelled).toHaveBeenCalledWith({ job });
    expect(onStarted).not.toHaveBeenCalled();
  });

  it("while training ends it, once, and leaves no half checkpoint", async () => {
    const project = enterProject();
    const checkpoint = awaited<unknown>();
    const onCancelled = vi.fn();
    const onFailed = vi.fn();
    const trainer = createTinyTrainer({
      ...ENDLESS,
      saveSteps: 1,
      callbacks: { onCheckpoint: checkpoint.callback, onCancelled, onFailed },
    });
    const { jobId } = await trainer.start();
    await checkpoint.call;
    await Promise.all([trainer.cancel(), trainer.cancel()]);
    const { job, artifacts } = await trainer.wait();
    expect(job.status).toBe("cancelled");
    const events = readEvents(project, jobId);
    expect(events.filter(({ event }) => event === "training.cancelled")).toHaveLength(1);
    expect(events.at(-1)?.event).toBe("training.cancelled");
    expect(onCancelled).toHaveBeenCalledOnce();
    expect(onFailed).not.toHaveBeenCalled();
    for (const name of readdirSync(join(project, ".kit/jobs", jobId, "artifacts"))) {
      const files = readdirSync(join(project, ".kit/jobs", jobId, "artifacts", name));
      expect(files).toContain("model.safetensors");
    }
    expect(artifacts.length).toBeGreaterThan(0);
  });

  it("from a callback ends the job, and may be awaited there", async () => {
    enterProject();
    const inLog = awaited<void>();
    const inCancelled = awaited<void>();
    const trainer = createTinyTrainer({
      ...ENDLESS,
      callbacks: {
        onLog: () => trainer.cancel().then(inLog.callback),
        onCancelled: () => trainer.cancel().then(inCancelled.callback),
      },
    });
    expect((await trainer.wait()).job.status).toBe("cancelled");
    await Promise.all([inLog.call, inCancelled.call]);
  });

  it("ends an answer that is being generated", async () => {
    enterProject();
    const trainer = createTinyTrainer({
      ...ENDLESS,
      saveSteps: 1,
      model: { layers: 2, heads: 2, width: 64, context: 4096 },
      callbacks: {
        async onCheckpoint({ infer }) {
          const answer = infer({ prompt: "1" });
          void trainer.cancel();
          await answer;
        },
      },
    });
    const since = performance.now();
    expect((await trainer.wait()).job.status).toBe("cancelled");
    expect(performance.now() - since).toBeLessThan(15_000);
  });

  it("after the end changes nothing", async () => {
    const project = enterProject();
    const onCancelled = vi.fn();
    const trainer = createTinyTrainer({ maxSteps: 1, callbacks: { onCancelled } });
    const { jobId } = await trainer.start();
    await trainer.wait();
    await trainer.cancel();
    expect((await trainer.wait()).job.status).toBe("completed");
    expect(statusOf(project, jobId)?.job.status).toBe("completed");
    expect(onCancelled).not.toHaveBeenCalled();
  });

  it("comes from an abort signal too, aborted before or during the training", async () => {
    enterProject();
    const before = createTinyTrainer({ abortSignal: AbortSignal.abort() });
    expect((await before.wait()).job.status).toBe("cancelled");
    const controller = new AbortController();
    const during = createTinyTrainer({
      ...ENDLESS,
      abortSignal: controller.signal,
      callbacks: { onLog: () => controller.abort() },
    });
    expect((await during.wait()).job.status).toBe("cancelled");
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
  enterProject();
  const trainer = createTinyTrainer({ maxSteps: 1, lora: { r: 2, alpha: 4 } });
  const { artifacts } = await trainer.wait();
  expect(artifacts).toEqual([{ step: 1, kind: "adapter", path: "artifacts/step-1" }]);
});

it("a log that can no longer be written fails the job with where and why", async () => {
  const project = enterProject();
  const broken = Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
  const { runJob } = await import("../../sdk/run.ts");
  const store = createJobStore(project);
  const owned = store.create("tiny", {} as never);
  const result = await runJob({
    job: {
      ...owned,
      append() {
        throw broken;
      },
    },
    config: {} as never,
    engine: {
      train: ({ onEvent }) => {
        onEvent({ event: "checkpoint.saved", data: { step: 1, kind: "model", path: "a" } });
        return Promise.resolve([]);
      },
      load: () => Promise.reject(new Error("unused")),
    },
    callbacks: {},
    turn: () => Promise.resolve(),
    cancel: new AbortController().signal,
    failure: new AbortController(),
    onEvent: () => {},
  });
  expect(result.job.status).toBe("failed");
  expect(result.error?.message).toBe(
    `Cannot write the job's log in ${owned.directory}: no space left on device. Make the folder writable, or free disk space.`,
  );
});
