import { locateModel } from "../../../engines/checkpoint/locateModel.ts";
import type * as backend from "../../../engines/embedded/train/backend.ts";
import type { PlanBackend } from "../../../engines/training/backend.ts";
import { train } from "../../../engines/training/train.ts";
import { webgpuBackend } from "../../../engines/webgpu/train/backend.ts";
import type { EngineEvent } from "../../../protocol/event.ts";
import { builtModule } from "../embedded/built.ts";
import { dataOf, run } from "../embedded/run.ts";
import { scratchDirectory } from "../embedded/scratch.ts";
import { HAS_WEBGPU, testDevice } from "../webgpu/device.ts";
import { plainBackend } from "./plainBackend.ts";

const { embeddedBackend } = await builtModule<typeof backend>("train/backend.js");

/** On this thread. */
export const EXACT_BACKENDS: [name: string, PlanBackend][] = [
  ["the embedded engine", embeddedBackend({ threads: 1, initWorkers() {} })],
  ["plain arrays", plainBackend],
];

/** Also those on which a sequence's last digits depend on its place in the batch. */
export const PLAN_BACKENDS = [...EXACT_BACKENDS];
if (HAS_WEBGPU)
  PLAN_BACKENDS.push(["WebGPU", async (run) => webgpuBackend(await testDevice())(run)]);

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
