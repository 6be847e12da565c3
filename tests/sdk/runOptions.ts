import type { Engine } from "../../protocol/engine.ts";
import { toEach } from "../../sdk/job/observer.ts";
import type { RunJobOptions } from "../../sdk/job/runJobOptions.ts";
import { trainFrom } from "../../sdk/job/trainFrom.ts";

/** Runs a job by an engine, without a queue and without listeners. */
export function runOptions(
  engine: Pick<Engine, "name" | "train" | "load">,
): Omit<RunJobOptions, "job" | "config" | "callbacks"> {
  return {
    engine,
    train: (options) => trainFrom([], engine, options),
    cancel: new AbortController().signal,
    failure: new AbortController(),
    observer: toEach([]),
  };
}
