import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { EngineEvent } from "../../../protocol/event.ts";
import { artifactNames, run, tinyConfig } from "./run.ts";
import { scratchDirectory } from "./scratch.ts";

const ENDLESS = { maxSteps: 1_000_000, saveSteps: 1_000_000 };

test("a run that is aborted before it starts never starts", async () => {
  const events: EngineEvent[] = [];
  const reason = new Error("not today");
  const options = {
    signal: AbortSignal.abort(reason),
    onEvent: (e: EngineEvent) => events.push(e),
  };
  await expect(run(tinyConfig(ENDLESS), options)).rejects.toBe(reason);
  expect(events).toEqual([]);
});

test("aborting ends the run with the reason, and no event follows", async () => {
  const controller = new AbortController();
  const reason = new Error("enough");
  const directory = scratchDirectory();
  const events: EngineEvent[] = [];
  const onEvent = (event: EngineEvent) => {
    events.push(event);
    if (event.event !== "training.log" || event.data.step !== 3) return;
    // Holds this thread until the other has gone on, so that more events wait to be told.
    while (!existsSync(join(directory, "artifacts/step-6")));
    controller.abort(reason);
  };
  const config = tinyConfig({ ...ENDLESS, saveSteps: 1 });
  const running = run(config, { signal: controller.signal, onEvent }, directory);
  await expect(running).rejects.toBe(reason);
  expect(events.at(-1)).toMatchObject({ event: "training.log", data: { step: 3 } });
});

test("aborting while the first step compiles does not wait for it", async () => {
  const controller = new AbortController();
  const events: EngineEvent[] = [];
  const model = { layers: 12, heads: 2, width: 32, context: 48 };
  const onEvent = (event: EngineEvent) => {
    events.push(event);
    if (event.event === "training.started") controller.abort();
  };
  const running = run(tinyConfig({ ...ENDLESS, model }), { signal: controller.signal, onEvent });
  await expect(running).rejects.toMatchObject({ name: "AbortError" });
  expect(events.map(({ event }) => event)).toEqual(["training.started"]);
});

test("aborting in the midst of saving leaves whole artifacts only", async () => {
  // Saves in every step, so that most of the time something is being written.
  const directory = scratchDirectory();
  const controller = new AbortController();
  const onEvent = (event: EngineEvent) => {
    if (event.event === "training.log" && event.data.step === 5) controller.abort();
  };
  const config = tinyConfig({ maxSteps: 1_000_000, saveSteps: 1 });
  await expect(run(config, { signal: controller.signal, onEvent }, directory)).rejects.toThrow();
  const names = artifactNames(directory);
  expect(names.length).toBeGreaterThanOrEqual(4);
  expect(names.filter((name) => !/^step-\d+$/.test(name))).toEqual([]);
});

test("an error of the one who takes the events ends the run with it", async () => {
  const error = new Error("the disk is full");
  const onEvent = ({ event }: EngineEvent) => {
    if (event === "training.log") throw error;
  };
  await expect(run(tinyConfig(ENDLESS), { onEvent })).rejects.toBe(error);
});
