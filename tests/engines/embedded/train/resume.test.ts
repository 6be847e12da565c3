import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { TrainConfig } from "../../../../protocol/trainConfig.ts";
import { type Run, ROWS, dataOf, run, tinyConfig } from "../run.ts";
import { jsonl, scratchDirectory, scratchFile } from "../scratch.ts";

const LORA = { r: 2, alpha: 4, targetModules: ["q_proj", "down_proj"] };

/** Must be the same in both: each log after step 40, and the files of the last checkpoint. */
function resultOf({ events, directory }: Run, lora: boolean) {
  const read = (name: string) =>
    readFileSync(join(directory, "artifacts/step-100", name), "base64");
  const logs = dataOf(events, "training.log").filter(({ step }) => step > 40);
  return {
    logs: logs.map(({ tokensPerSecond: _, ...log }) => log),
    weights: read(lora ? "adapter_model.safetensors" : "model.safetensors"),
    optimizer: read("optimizer.safetensors"),
    state: read("trainer_state.json"),
  };
}

/** Trains until step 40 is saved. Returns that checkpoint's folder. */
async function interrupted(config: TrainConfig): Promise<string> {
  const [abort, directory] = [new AbortController(), scratchDirectory()];
  const onEvent = ({ event, data }: { event: string; data: object }) => {
    if (event === "checkpoint.saved" && "step" in data && data.step === 40) abort.abort();
  };
  await run(config, { signal: abort.signal, onEvent }, directory).catch(() => undefined);
  return join(directory, "artifacts/step-40");
}

test.each([
  ["a whole model, its logs and passes across the break", { loggingSteps: 7, batchSize: 5 }],
  ["evaluated", { evalSplit: 0.25, evalSteps: 15 }],
  ["in accumulated batches", { gradientAccumulationSteps: 3, numTrainEpochs: undefined }],
  ["an adapter", { lora: LORA }],
])("40 steps and 60 more are 100 to the bit, on 1 thread or 2: %s", async (_, options) => {
  onTestFinished(() => void delete process.env["KIT_THREADS"]);
  const config = tinyConfig({ maxSteps: 100, saveSteps: 20, loggingSteps: 1, ...options });
  process.env["KIT_THREADS"] = "1";
  const resumeFrom = await interrupted(config);
  const whole = resultOf(await run(config), config.lora !== undefined);
  process.env["KIT_THREADS"] = "2";
  const more = await run(config, { resumeFrom });
  expect(dataOf(more.events, "training.log")[0]?.step).toBeGreaterThan(40);
  expect(resultOf(more, config.lora !== undefined)).toEqual(whole);
});

test("the newest checkpoint alone has the optimizer's state", async () => {
  const { directory } = await run(tinyConfig({ maxSteps: 5, saveSteps: 2 }));
  const has = [2, 4, 5].map((step) =>
    existsSync(join(directory, `artifacts/step-${step}/optimizer.safetensors`)),
  );
  expect(has).toEqual([false, false, true]);
});

test("a changed dataset is said, another model or a damaged state refused", async () => {
  const config = tinyConfig({ maxSteps: 3, saveSteps: 3 });
  const { directory } = await run(config);
  const resumeFrom = join(directory, "artifacts/step-3");
  const notes: string[] = [];
  const onNote = (text: string) => void notes.push(text);
  const longer = { ...config, maxSteps: 4 };
  await run(longer, { resumeFrom, onNote });
  expect(notes).toEqual([]);
  const path = scratchFile("other.jsonl", jsonl(ROWS.toReversed()));
  await run({ ...longer, dataset: { type: "jsonl", path } }, { resumeFrom, onNote });
  expect(notes).toEqual([
    "warning: the dataset has changed since that job; losses will differ from an uninterrupted run",
  ]);
  for (const change of [
    { model: { layers: 2, heads: 2, width: 16, context: 48 } },
    { lora: LORA },
  ]) {
    await expect(run({ ...longer, ...change }, { resumeFrom })).rejects.toMatchObject({
      code: "CHECKPOINT_INVALID",
      message: expect.stringContaining("is of another model or adapter than the trainer's"),
    });
  }
  await expect(run(longer, { resumeFrom: scratchDirectory() })).rejects.toMatchObject({
    code: "CHECKPOINT_INVALID",
  });
});

test("a job that had trained all its steps saves them again", async () => {
  const config = tinyConfig({ maxSteps: 3, saveSteps: 3 });
  const { directory } = await run(config);
  const { events } = await run(config, { resumeFrom: join(directory, "artifacts/step-3") });
  expect(events.map(({ event }) => event)).toEqual(["training.started", "checkpoint.saved"]);
});
