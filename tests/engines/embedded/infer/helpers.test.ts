import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { saveModel } from "../../../../engines/checkpoint/checkpoint.ts";
import { dimensionsOf } from "../../../../engines/families/dimensions.ts";
import { randomWeights } from "../../../../engines/families/randomWeights.ts";
import { createEmbeddedEngine } from "../built.ts";
import { scratchDirectory } from "../scratch.ts";
import { useThreads, watchHelpers } from "../threads.ts";

/** Large enough for helpers. */
const SHAPE = dimensionsOf({ layers: 2, heads: 4, width: 448, context: 512 });
const ASKED = { prompt: "a question", maxTokens: 400 };

/** A folder with a model of random weights. */
function savedModel(): string {
  const path = join(scratchDirectory(), "model");
  saveModel(path, randomWeights(SHAPE, 1), { shape: SHAPE, promptStyle: "message" });
  return path;
}

/** Settles with what a model answers while its helpers do what they were made to. */
async function answerOf(path: string, onDelta?: () => void): Promise<string> {
  const model = await createEmbeddedEngine().load(path);
  try {
    return (await model.infer(ASKED, onDelta)).text;
  } finally {
    await model.close();
  }
}

const lost = (why: string) => ({
  code: "WORKER_FAILED",
  message: `A helper thread exited unexpectedly (${why}). Try again, or set KIT_THREADS=1 to answer without helpers.`,
});

test("a helper thread that dies fails the answers, and the model answers when it is loaded again", async () => {
  useThreads(3);
  const path = savedModel();
  const expected = await answerOf(path);
  const helpers: Worker[] = [];
  const joined: Promise<unknown>[] = [];
  watchHelpers((helper) => {
    helpers.push(helper);
    joined.push(new Promise((resolve) => helper.once("message", resolve)));
  });
  const engine = createEmbeddedEngine();
  const model = await engine.load(path);
  await Promise.all(joined);
  const answers = [model.infer(ASKED, () => void helpers[1]?.terminate()), model.infer(ASKED)];
  for (const answer of answers) await expect(answer).rejects.toMatchObject(lost("code 1"));
  expect(helpers).toHaveLength(2);
  const again = await engine.load(path);
  expect((await again.infer(ASKED)).text).toBe(expected);
  await again.close();
});

test("so does one that throws", async () => {
  useThreads(2);
  // Where it waits for the next job.
  const broken = (file: string) => `const { wait } = Atomics;
    let count = 0;
    Atomics.wait = (...words) => {
      if (++count > 3) throw new Error("broken");
      return wait(...words);
    };
    void import(${JSON.stringify(file)});`;
  watchHelpers(() => {}, broken);
  await expect(answerOf(savedModel())).rejects.toMatchObject(lost("broken"));
});

test("helpers that cannot start are not waited for", async () => {
  useThreads(2);
  const path = savedModel();
  const expected = await answerOf(path);
  watchHelpers(
    () => {},
    () => 'throw new Error("no file")',
  );
  expect(await answerOf(path)).toBe(expected);
});
