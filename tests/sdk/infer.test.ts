import { loadModel } from "kit";
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
