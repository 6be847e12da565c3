import { join } from "node:path";
import { KitError, loadModel } from "kit";
import { describe, expect, it } from "vitest";
import { createTinyTrainer, enterProject } from "./project.ts";

describe("infer", () => {
  it("answers from the checkpoint, during its callback and after it", async () => {
    enterProject();
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
    const { artifacts } = await trainer.wait();
    const expected: string[] = [];
    for (const { directory } of artifacts) {
      const model = await loadModel(directory);
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

describe("loadModel", () => {
  it("loads the last checkpoint of a job's folder, and of its artifacts", async () => {
    const project = enterProject();
    const trainer = createTinyTrainer({ maxSteps: 12, learningRate: 0.1 });
    const { job, artifacts } = await trainer.wait();
    expect(artifacts.map(({ step }) => step)).toEqual([2, 4, 6, 8, 10, 12]);
    const directory = join(project, ".kit/jobs", job.id);
    const answers: string[] = [];
    for (const path of ["artifacts/step-12", "", "artifacts", "artifacts/step-8"]) {
      const model = await loadModel(join(directory, path));
      answers.push((await model.infer({ prompt: "1", maxTokens: 8 })).text);
      await model.close();
    }
    const [last, ofJob, ofArtifacts, earlier] = answers;
    expect({ ofJob, ofArtifacts }).toEqual({ ofJob: last, ofArtifacts: last });
    expect(earlier).not.toBe(last);
  });

  it("says of a job without a checkpoint that it has none", async () => {
    const directory = enterProject({ "job.json": "{}" });
    await expect(loadModel(directory)).rejects.toMatchObject({
      code: "CHECKPOINT_INVALID",
      message: `The job in ${directory} has saved no checkpoint. Wait for its first, or load another job's.`,
    });
  });
});

describe("a wrong argument is one clear sentence", () => {
  it.each([
    [undefined, "infer: pass { prompt } or { messages }, not undefined."],
    [{ prompt: "1", messages: [] }, "infer: pass messages or a prompt, not both."],
    [{ prompt: "1", signal: "soon" }, "infer: signal must be an AbortSignal."],
  ])("of a checkpoint's infer: %o", async (request, message) => {
    enterProject();
    const trainer = createTinyTrainer({
      maxSteps: 1,
      callbacks: { onCheckpoint: async ({ infer }) => void (await infer(request as never)) },
    });
    const failed = trainer.wait();
    await expect(failed).rejects.toMatchObject({ name: "KitError", message });
    await expect(failed).rejects.toBeInstanceOf(KitError);
  });

  it("of loadModel", async () => {
    await expect(loadModel(undefined as never)).rejects.toMatchObject({
      name: "KitError",
      message: "loadModel takes the path of a checkpoint's directory, not undefined.",
    });
  });
});
