import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import type { EngineEvent } from "../../../protocol/event.ts";
import { run, tinyConfig } from "./run.ts";
import { jsonl, scratchDirectory, scratchFile } from "./scratch.ts";

const ENDLESS = { maxSteps: 1_000_000, saveSteps: 1_000_000 };

test("aborting ends the run with the reason, and no event follows", async () => {
  const controller = new AbortController();
  const reason = new Error("enough");
  const directory = scratchDirectory();
  const events: EngineEvent[] = [];
  const onEvent = (event: EngineEvent) => {
    events.push(event);
    if (event.event !== "training.log" || event.data.step !== 3) return;
    // Holds this thread until the other has gone on, so that more events are waiting.
    while (!existsSync(join(directory, "artifacts/step-6")));
    controller.abort(reason);
  };
  const config = tinyConfig({ ...ENDLESS, saveSteps: 1 });
  const running = run(config, { signal: controller.signal, onEvent }, directory);
  await expect(running).rejects.toBe(reason);
  expect(events.at(-1)).toMatchObject({ event: "training.log", data: { step: 3 } });
});

test.each(["1", "3"])("aborting ends a step in its midst, on %s threads", async (threads) => {
  vi.stubEnv("KIT_THREADS", threads);
  onTestFinished(() => void vi.unstubAllEnvs());
  const controller = new AbortController();
  const events: EngineEvent[] = [];
  const onEvent = (event: EngineEvent) => {
    events.push(event);
    if (event.event === "training.started") setImmediate(() => controller.abort());
  };
  // A step would take far longer than a test may.
  const path = scratchFile("train.jsonl", jsonl([{ text: "a".repeat(1000) }]));
  const config = tinyConfig({
    ...ENDLESS,
    model: { layers: 2, heads: 4, width: 128, context: 1024 },
    dataset: { type: "jsonl", path },
    batchSize: 4,
    gradientAccumulationSteps: 500,
  });
  const running = run(config, { signal: controller.signal, onEvent });
  await expect(running).rejects.toMatchObject({ name: "AbortError" });
  expect(events.map(({ event }) => event)).toEqual(["training.started"]);
});

test("an error that onEvent throws ends the run with it", async () => {
  const error = new Error("the disk is full");
  const onEvent = ({ event }: EngineEvent) => {
    if (event === "training.log") throw error;
  };
  await expect(run(tinyConfig(ENDLESS), { onEvent })).rejects.toBe(error);
});
