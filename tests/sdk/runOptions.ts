import type { Engine } from "../../protocol/engine.ts";
import { broadcast } from "../../sdk/job/observer.ts";
import type { RunJobOptions } from "../../sdk/job/run.ts";
import { CONFIG } from "../jobs.ts";

/** Runs a job by an engine, without a queue and without listeners. */
export function runOptions(
  engine: Pick<Engine, "name" | "train" | "load">,
): Omit<RunJobOptions, "owned" | "callbacks"> {
  return {
    engine,
    config: CONFIG,
    prepare: () => Promise.resolve({ engine, config: CONFIG, points: [] }),
    cancel: new AbortController().signal,
    failure: new AbortController(),
    observer: broadcast([]),
  };
}
