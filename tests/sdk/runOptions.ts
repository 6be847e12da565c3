import type { Engine } from "../../protocol/engine.ts";
import { toEach } from "../../sdk/job/observer.ts";
import type { RunJobOptions } from "../../sdk/job/run.ts";
import { trainFrom } from "../../sdk/job/runEngine.ts";

/** Runs a job by an engine, without a queue and without listeners. */
export function runOptions(
  engine: Pick<Engine, "name" | "train" | "load">,
): Omit<RunJobOptions, "owned" | "config" | "callbacks"> {
  return {
    engine,
    train: (options) => trainFrom([], engine, options),
    cancel: new AbortController().signal,
    failure: new AbortController(),
    observer: toEach([]),
  };
}
