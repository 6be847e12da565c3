import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import type { EngineEvent } from "../../../../protocol/event.ts";
import { learns } from "../../training/preferences.ts";
import { createEmbeddedEngine } from "../built.ts";
import { dataOf, losses, run, tinyConfig } from "../run.ts";
import { canonical, scratchFile } from "../scratch.ts";
import { useThreads, watchHelpers } from "../threads.ts";

test("losses and weights are the same to the bit on any number of threads", async () => {
  const results = [];
  for (const count of [1, 2, 3, 5]) {
    useThreads(count);
    const made = await run(tinyConfig({ maxSteps: 40, loggingSteps: 1, saveSteps: 40 }));
    const weights = readFileSync(join(made.directory, "artifacts/step-40/model.safetensors"));
    results.push({ losses: losses(made), weights: weights.toString("base64") });
  }
  expect(results[0]?.losses).toHaveLength(40);
  for (const result of results.slice(1)) expect(result).toEqual(results[0]);
});

test.each(["dpo", "kto"] as const)("so they are of %s", async (type) => {
  const results = [];
  for (const count of [1, 2, 3, 5]) {
    useThreads(count);
    const config = { ...learns(type), loggingSteps: 1, saveSteps: 10 };
    const made = await run(tinyConfig({ maxSteps: 10, lora: undefined, ...config }));
    const weights = readFileSync(join(made.directory, "artifacts/step-10/model.safetensors"));
    const logs = dataOf(made.events, "training.log").map(({ tokensPerSecond: _, ...log }) => log);
    results.push({ logs, weights: weights.toString("base64") });
  }
  for (const result of results.slice(1)) expect(result).toEqual(results[0]);
});

test("a helper thread that exits unexpectedly fails the training with one clear sentence", async () => {
  useThreads(3);
  const helpers: Worker[] = [];
  let isOnline = false;
  watchHelpers((helper) => {
    helpers.push(helper);
    // Node lets a thread that is terminated before it runs exit with 0, as one that was not needed.
    if (helpers.length === 2) helper.once("online", () => (isOnline = true));
  });
  const onEvent = ({ event, data }: EngineEvent) => {
    if (isOnline && event === "training.log" && data.step >= 20) void helpers[1]?.terminate();
  };
  const config = tinyConfig({ maxSteps: 1_000_000, saveSteps: 1_000_000, loggingSteps: 1 });
  await expect(run(config, { onEvent })).rejects.toMatchObject({
    code: "WORKER_FAILED",
    message:
      "A helper thread exited unexpectedly (code 1). Try again, or set KIT_THREADS=1 to train without helpers.",
  });
  expect(helpers).toHaveLength(2);
});

test("so does one that is lost while a check measures losses", async () => {
  useThreads(2);
  // Once the others count on it.
  const broken = (file: string) => `const { add } = Atomics;
    Atomics.add = (...words) => {
      add(...words);
      throw new Error("broken");
    };
    void import(${JSON.stringify(file)});`;
  watchHelpers(() => {}, broken);
  // Enough that the helper comes before all is measured.
  const rows = Array.from({ length: 200 }, (_, n) => ({ text: `${n} `.repeat(60) }));
  const config = tinyConfig({
    model: { layers: 8, heads: 4, width: 128, context: 256 },
    dataset: { type: "jsonl", path: scratchFile("long.jsonl", canonical(rows)) },
  });
  const checked = createEmbeddedEngine().check({ config, loss: true });
  await expect(checked).rejects.toMatchObject({
    code: "WORKER_FAILED",
    message:
      "A helper thread exited unexpectedly (broken). Try again, or set KIT_THREADS=1 to train without helpers.",
  });
});

test("a helper thread that cannot start fails the training with one clear sentence", async () => {
  useThreads(2);
  watchHelpers(
    () => {},
    () => 'throw new Error("no thread left")',
  );
  const config = tinyConfig({ maxSteps: 1_000_000, saveSteps: 1_000_000 });
  await expect(run(config)).rejects.toMatchObject({
    code: "WORKER_FAILED",
    message:
      "A helper thread exited unexpectedly (no thread left). Try again, or set KIT_THREADS=1 to train without helpers.",
  });
});

test("when the system has no thread left, the training fails with one clear sentence, and none goes on", async () => {
  useThreads(3);
  const helpers: Worker[] = [];
  const all = watchHelpers((helper) => {
    helpers.push(helper);
    if (helpers.length < 2) return;
    void helper.terminate();
    throw Object.assign(new Error("EAGAIN"), { code: "ERR_WORKER_INIT_FAILED" });
  });
  const config = tinyConfig({ maxSteps: 1_000_000, saveSteps: 1_000_000 });
  await expect(run(config)).rejects.toMatchObject({
    code: "WORKER_FAILED",
    message:
      "The system refused to start a thread (EAGAIN). Set KIT_THREADS=1 to train without helpers, end other programs, or raise the limit (ulimit -u).",
  });
  expect(all.slice(0, 2).map(({ threadId }) => threadId)).toEqual([-1, -1]);
});

test("an invalid KIT_THREADS fails with one clear sentence", async () => {
  useThreads("many");
  await expect(run(tinyConfig())).rejects.toMatchObject({
    code: "CONFIG_INVALID",
    message: 'KIT_THREADS must be a whole number from 1 to 64, not "many".',
  });
});
