import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import {
  ENDLESS,
  awaited,
  createTinyTrainer,
  enterProject,
  readEvents,
  statusOf,
} from "./project.ts";

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
    const answered = vi.fn();
    const trainer = createTinyTrainer({
      ...ENDLESS,
      saveSteps: 1,
      model: { layers: 2, heads: 2, width: 64, context: 4096 },
      callbacks: {
        async onCheckpoint({ infer }) {
          const answer = infer({ prompt: "1" });
          void trainer.cancel();
          answered(await answer);
        },
      },
    });
    expect((await trainer.wait()).job.status).toBe("cancelled");
    expect(answered).not.toHaveBeenCalled();
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
