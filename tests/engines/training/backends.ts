import { locateModel } from "../../../engines/checkpoint/locateModel.ts";
import { train } from "../../../engines/training/train.ts";
import type { EngineEvent } from "../../../protocol/event.ts";
import { dataOf, run } from "../embedded/run.ts";
import { scratchDirectory } from "../embedded/scratch.ts";
import { plainBackend } from "./plainBackend.ts";

type Train = typeof run;

/** As `run`, on plain arrays in this thread. */
const runPlainly: Train = async (config, options = {}, directory = scratchDirectory()) => {
  const events: EngineEvent[] = [];
  const { signal, onEvent } = options;
  await train(config, directory, {
    ...options,
    source: await locateModel(config.model, options),
    planBackend: plainBackend,
    onEvent(event) {
      events.push(event);
      onEvent?.(event);
      signal?.throwIfAborted();
    },
  });
  return { directory, events, artifacts: dataOf(events, "checkpoint.saved") };
};

/** What the loop's tests run on, with a learning rate that soon breaks the weights there. */
export const BACKENDS: [name: string, train: Train, tooHigh: number][] = [
  ["the embedded engine", run, 2e6],
  // Its numbers in between are float64.
  ["plain arrays", runPlainly, 2e36],
];
