import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { TrainOptions } from "../../../protocol/engine.ts";
import type { Artifact, EngineEvent, EventData, EventName } from "../../../protocol/event.ts";
import type { TrainConfig } from "../../../protocol/trainConfig.ts";
import { CONFIG } from "../../jobs.ts";
import { createEmbeddedEngine } from "./built.ts";
import { jsonl, scratchDirectory, scratchFile } from "./scratch.ts";

/** One-digit sums: a task that a tiny model learns in seconds. */
export const ROWS = Array.from({ length: 16 }, (_, i) => ({
  prompt: `${i % 4}+${Math.floor(i / 4)}`,
  completion: String((i % 4) + Math.floor(i / 4)),
}));

/** A complete config of a run that takes about a second. */
export function tinyConfig(config: Partial<TrainConfig> = {}): TrainConfig {
  return {
    ...CONFIG,
    model: { layers: 1, heads: 2, width: 16, context: 48 },
    dataset: { type: "jsonl", path: scratchFile("train.jsonl", jsonl(ROWS)) },
    maxSteps: 6,
    batchSize: 4,
    learningRate: 1e-2,
    warmupSteps: 2,
    weightDecay: 0.01,
    saveSteps: 3,
    seed: 0,
    ...config,
  };
}

export interface Run {
  directory: string;
  events: EngineEvent[];
  artifacts: Artifact[];
}

/** Trains to the end on a thread, in a directory that lasts as long as the test. */
export async function run(
  config: TrainConfig,
  {
    signal = new AbortController().signal,
    ...options
  }: Partial<Pick<TrainOptions, "signal" | "onEvent" | "onNote" | "resumeFrom">> = {},
  directory = scratchDirectory(),
): Promise<Run> {
  const events: EngineEvent[] = [];
  await createEmbeddedEngine().train({
    config,
    directory,
    ...options,
    signal,
    onEvent: (event) => {
      events.push(event);
      options.onEvent?.(event);
    },
  });
  return { directory, events, artifacts: dataOf(events, "checkpoint.saved") };
}

export function dataOf<Name extends EventName>(
  events: EngineEvent[],
  name: Name,
): EventData[Name][] {
  return events.filter(({ event }) => event === name).map(({ data }) => data as EventData[Name]);
}

export function losses({ events }: { events: EngineEvent[] }): (number | null | undefined)[] {
  return dataOf(events, "training.log").map(({ loss }) => loss);
}

/** Everything under `artifacts/`, hidden names too. */
export function artifactNames(directory: string): string[] {
  try {
    return readdirSync(join(directory, "artifacts")).toSorted();
  } catch {
    return [];
  }
}
