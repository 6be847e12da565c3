import { existsSync } from "node:fs";
import { join } from "node:path";
import type { TrainerOptions } from "kit";
import { describe, expect, it, vi } from "vitest";
import { type DrivenTrainer, DRIVER } from "../../sdk/trainer.ts";
import { createSeparateEngine } from "../engines/separate/engine.ts";
import { PATIENCE_MS } from "../patience.ts";
import { createTinyTrainer, enterProject, jobsOf, readEvents, statusOf } from "./project.ts";
import { createScriptedEngine } from "./scriptedEngine.ts";

type Callbacks = NonNullable<TrainerOptions["callbacks"]>;

describe("callbacks", () => {
  it("may ask a model that cannot be closed: the job completes with what it saved", async () => {
    enterProject();
    const answer = { text: "yes", finishReason: "stop", promptTokens: 1, tokens: 1 } as const;
    const notes = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    for (const close of [
      () => Promise.reject(new Error("no way")),
      () => {
        throw new Error("no way");
      },
    ]) {
      const load = () => Promise.resolve({ infer: () => Promise.resolve(answer), close });
      const texts: string[] = [];
      const trainer = createTinyTrainer({
        engine: { ...createScriptedEngine(), load },
        callbacks: {
          onCheckpoint: async ({ infer }) => {
            texts.push((await infer({ prompt: "x" })).text);
          },
        },
      });
      await trainer.start();
      const { job, artifacts } = await trainer.wait();
      expect(job.status).toBe("completed");
      expect(artifacts.map(({ step }) => step)).toEqual([2, 4]);
      expect(texts).toEqual(["yes", "yes"]);
    }
    notes.mockRestore();
  });

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
          const { directory } = context.artifacts.at(-1)!;
          if (!existsSync(join(directory, "model.safetensors"))) unseen.push(directory);
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
      directory: join(project, ".kit/jobs", jobId, `artifacts/step-${step}`),
      fetch: expect.any(Function) as unknown,
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

  it("get the evalLoss of an evaluated step", async () => {
    enterProject();
    const seen: unknown[] = [];
    const onLog = ({ evalLoss }: { evalLoss?: number }) => void seen.push(evalLoss);
    await createTinyTrainer({ evalSplit: 0.5, evalSteps: 2, callbacks: { onLog } }).wait();
    const measured = expect.any(Number) as number;
    expect(seen).toEqual([undefined, measured, undefined, measured]);
  });

  it("get what an engine measures besides the loss", async () => {
    const project = enterProject();
    const seen: [loss: number, metrics?: Record<string, number>][] = [];
    const trainer = createTinyTrainer({
      engine: createSeparateEngine(),
      callbacks: { onLog: ({ loss, metrics }) => void seen.push([loss, metrics]) },
    });
    const { job } = await trainer.wait();
    expect(seen).toHaveLength(4);
    for (const [loss, metrics] of seen) expect(metrics).toEqual({ perplexity: Math.exp(loss) });
    const logged = readEvents(project, job.id).filter(({ event }) => event === "training.log");
    expect(logged.map(({ data }) => data.metrics)).toEqual(seen.map(([, metrics]) => metrics));
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
          await vi.waitUntil(trainingIsDone, { timeout: PATIENCE_MS });
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

  it("fail the job with a message even when the thrown value has none", async () => {
    const project = enterProject();
    const trainer = createTinyTrainer({
      callbacks: {
        onStarted() {
          // oxlint-disable-next-line typescript/only-throw-error -- what is tested
          throw undefined;
        },
      },
    });
    await expect(trainer.wait()).rejects.toThrow("The project's code threw undefined.");
    const empty = createTinyTrainer({ callbacks: { onStarted: rejecting("") } });
    await expect(empty.wait()).rejects.toThrow();
    const { jobId } = await empty.start();
    expect(statusOf(project, jobId)?.error).toBe("Error without a message");
  });

  it("change nothing by failing when the job has ended already", async () => {
    const project = enterProject();
    const told = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    const failed = createTinyTrainer({
      model: "./none",
      callbacks: { onFailed: rejecting("no onFailed") },
    });
    const cancelled = createTinyTrainer({ callbacks: { onCancelled: broken("no onCancelled") } });
    await cancelled.cancel();
    await expect(failed.wait()).rejects.toThrow("There is no checkpoint");
    expect((await cancelled.wait()).job.status).toBe("cancelled");
    expect(jobsOf(project).map(({ status }) => status)).toEqual(["cancelled", "failed"]);
    expect(told.mock.calls.map(([text]) => String(text))).toEqual([
      expect.stringMatching(/^kit: onFailed failed: no onFailed/),
      expect.stringMatching(/^kit: onCancelled failed: no onCancelled/),
    ]);
    told.mockRestore();
  });

  it("let no more than 1,000 logs wait: later ones join, the last comes, and no checkpoint is left out", async () => {
    enterProject();
    const logged: number[] = [];
    const saved: number[] = [];
    const notes: string[] = [];
    let open = () => {};
    const gate = new Promise<void>((resolve) => (open = resolve));
    const trainer = createTinyTrainer({
      engine: createScriptedEngine(),
      maxSteps: 3_000,
      saveSteps: 500,
      callbacks: {
        async onLog({ step }) {
          await gate;
          logged.push(step);
        },
        onCheckpoint: ({ step }) => void saved.push(step),
      },
    }) as DrivenTrainer;
    trainer[DRIVER].observe({
      onNote: (text) => notes.push(text),
      // The last thing that the engine reports.
      onEvent: ({ event, data }) => event === "checkpoint.saved" && data.step === 3_000 && open(),
    });
    await trainer.wait();
    expect(logged).toHaveLength(1_000);
    expect(logged).toEqual(logged.toSorted((a, b) => a - b));
    expect(logged.at(-1)).toBe(3_000);
    expect(saved).toEqual([500, 1_000, 1_500, 2_000, 2_500, 3_000]);
    expect(notes).toEqual([
      "warning: onLog is slower than training: 1,000 calls are queued, so it misses logs from now on; the job's log has them all",
    ]);
  });
});
