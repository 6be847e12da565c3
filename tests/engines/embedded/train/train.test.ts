import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { artifactNames, dataOf, losses, run, tinyConfig } from "../run.ts";
import { jsonl, scratchDirectory, scratchFile } from "../scratch.ts";

test("a run tells its start, its steps and its checkpoints, in order", async () => {
  const config = tinyConfig({ maxSteps: 7, loggingSteps: 3, saveSteps: 3 });
  const { events, artifacts, directory } = await run(config);
  const told = events.map(({ event, data }) => ("step" in data ? `${event} ${data.step}` : event));
  expect(told).toEqual([
    "training.started",
    "training.log 1",
    "training.log 2",
    "training.log 3",
    "checkpoint.saved 3",
    "training.log 6",
    "checkpoint.saved 6",
    "training.log 7",
    "checkpoint.saved 7",
  ]);
  expect(events[0]?.data).toEqual({
    model: "llama-16x1",
    parameters: 7600,
    rows: 16,
    cut: 0,
    leftOut: 0,
    maxLength: 48,
    format: "{prompt, completion}",
    tokens: expect.any(Number),
    maxSteps: 7,
    epochs: 1.75,
  });
  expect(dataOf(events, "training.log").at(-1)).toEqual({
    step: 7,
    loss: expect.any(Number),
    learningRate: 0.001,
    gradNorm: expect.any(Number),
    epoch: 1.75,
    tokensPerSecond: expect.any(Number),
  });
  expect(artifacts).toEqual(dataOf(events, "checkpoint.saved"));
  expect(artifacts.at(-1)).toEqual({ step: 7, kind: "model", path: "artifacts/step-7" });
  expect(artifactNames(directory)).toEqual(["step-3", "step-6", "step-7"]);
  const state: unknown = JSON.parse(
    readFileSync(join(directory, "artifacts/step-7/trainer_state.json"), "utf8"),
  );
  expect(state).toMatchObject({
    global_step: 7,
    max_steps: 7,
    epoch: 1.75,
    log_history: [
      { step: 1 },
      { step: 2 },
      { step: 3 },
      { step: 6 },
      { step: 7, learning_rate: 0.001 },
    ],
  });
});

test("a checkpoint is complete on disk before it is told", async () => {
  const directory = scratchDirectory();
  const seen: string[][] = [];
  const onEvent = ({ event, data }: { event: string; data: object }) => {
    if (event !== "checkpoint.saved") return;
    const { path } = data as { path: string };
    seen.push([path, ...artifactNames(directory)]);
    expect(readFileSync(join(directory, path, "model.safetensors")).length).toBeGreaterThan(
      7600 * 4,
    );
  };
  await run(tinyConfig(), { onEvent }, directory);
  expect(seen.map(([path = ""]) => path)).toEqual(["artifacts/step-3", "artifacts/step-6"]);
});

test("the same seed gives the same losses and weights to the bit, another seed others", async () => {
  const weights = ({ directory }: { directory: string }) =>
    readFileSync(join(directory, "artifacts/step-6/model.safetensors"));
  const first = await run(tinyConfig({ seed: 5 }));
  const again = await run(tinyConfig({ seed: 5 }));
  const other = await run(tinyConfig({ seed: 6 }));
  expect(losses(first)).toHaveLength(6);
  expect(losses(again)).toEqual(losses(first));
  expect(weights(again).equals(weights(first))).toBe(true);
  expect(losses(other)).not.toEqual(losses(first));
});

test("a loss that is logged is the mean of the steps since the log before", async () => {
  const each = losses(await run(tinyConfig())) as number[];
  const [first, second, rest] = losses(await run(tinyConfig({ loggingSteps: 100 })));
  expect([first, second]).toEqual(each.slice(0, 2));
  const mean = each.slice(2).reduce((sum, loss) => sum + loss) / 4;
  expect(rest).toBeCloseTo(mean, 5);
});

test("the loss falls on a task that can be learned", async () => {
  const config = tinyConfig({ maxSteps: 80, batchSize: 16, loggingSteps: 20, saveSteps: 80 });
  const [first, ...rest] = losses(await run(config));
  expect(first).toBeCloseTo(Math.log(264), 0);
  expect(rest.at(-1)).toBeLessThan(0.8);
});

test("a training that has diverged goes on, and its numbers are null", async () => {
  const { events, artifacts } = await run(tinyConfig({ learningRate: 1e30, warmupSteps: 0 }));
  expect(losses({ events }).at(-1)).toBeNull();
  expect(dataOf(events, "training.log")).toHaveLength(6);
  expect(dataOf(events, "training.log").at(-1)?.gradNorm).toBeNull();
  expect(artifacts.at(-1)?.step).toBe(6);
});

test("training goes on from a checkpoint", async () => {
  const first = await run(tinyConfig({ maxSteps: 60, batchSize: 16, saveSteps: 60 }));
  const model = join(first.directory, "artifacts/step-60");
  const second = await run(tinyConfig({ model, batchSize: 16 }));
  expect(second.events[0]?.data).toMatchObject({ model, parameters: 7600 });
  const [start] = losses(second);
  expect(start).toBeLessThan(2);
});

test("a short dataset does not pay for a long context", async () => {
  const config = tinyConfig({ model: { layers: 1, heads: 2, width: 16, context: 8192 } });
  const { artifacts } = await run(config);
  expect(artifacts).toHaveLength(2);
});

test("a wrong config is one clear error, with its code, and leaves nothing", async () => {
  const directory = scratchDirectory();
  const failing = (config: Parameters<typeof tinyConfig>[0]) =>
    run(tinyConfig(config), {}, directory);
  await expect(failing({ model: "kit/huge" })).rejects.toMatchObject({
    name: "KitError",
    code: "MODEL_UNKNOWN",
    message: expect.stringContaining("kit/nano, kit/small"),
  });
  await expect(
    failing({ model: { layers: 64, heads: 8, width: 4096, context: 64 } }),
  ).rejects.toMatchObject({
    code: "MODEL_INVALID",
    message: expect.stringContaining("268 million fit in memory: lower its width or layers"),
  });
  await expect(failing({ maxLength: 49 })).rejects.toMatchObject({
    code: "CONFIG_INVALID",
    message: expect.stringContaining("maxLength (49) exceeds the model's context of 48 tokens"),
  });
  const path = scratchFile("bad.jsonl", `${jsonl([{ text: "a" }])}{"prompt":`);
  await expect(failing({ dataset: { type: "jsonl", path } })).rejects.toMatchObject({
    code: "DATASET_INVALID",
    message: expect.stringContaining("bad.jsonl:2: not valid JSON"),
  });
  expect(artifactNames(directory)).toEqual([]);
});
