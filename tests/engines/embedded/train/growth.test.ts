import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import type * as backend from "../../../../engines/embedded/train/backend.ts";
import { dimensionsOf } from "../../../../engines/families/dimensions.ts";
import type * as training from "../../../../engines/training/train.ts";
import { builtModule } from "../built.ts";
import { tinyConfig } from "../run.ts";
import { scratchDirectory } from "../scratch.ts";

const { embeddedBackend } = await builtModule<typeof backend>("train/backend.js");
const { train } = await builtModule<typeof training>("../training/train.js");

/** By then everything is compiled and was called often. */
const WARM = 2_000;
const STEPS = 10_000;

/** Less than 32 bytes a step. */
const LITTLE = (STEPS - WARM) * 32;

/** Makes the garbage collector callable, which Node does only with a flag. */
function garbageCollector(): () => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
}

test("memory is flat over 10,000 steps", async () => {
  const collect = garbageCollector();
  const used: number[] = [];
  const shape = dimensionsOf({ layers: 1, heads: 1, width: 8, context: 16 });
  await train(
    tinyConfig({
      model: shape,
      maxSteps: STEPS,
      batchSize: 1,
      loggingSteps: WARM,
      saveSteps: STEPS,
    }),
    scratchDirectory(),
    {
      source: { kind: "untrained", name: "tiny", dimensions: shape },
      planBackend: embeddedBackend({ threads: 1, initWorkers() {} }),
      onEvent({ event, data }) {
        if (event !== "training.log" || data.step < WARM) return;
        collect();
        const { heapUsed, external } = process.memoryUsage();
        used.push(heapUsed + external);
      },
    },
  );
  expect(used).toHaveLength(STEPS / WARM);
  expect((used.at(-1) ?? Infinity) - (used[0] ?? 0)).toBeLessThan(LITTLE);
});
