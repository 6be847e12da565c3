import type { EngineSizes } from "../engine.ts";
import { ratioAtLeast, ratioAtMost } from "../goals.ts";
import { program } from "../paths.ts";
import type { Row } from "../row.ts";
import type { Scope } from "../scope.ts";
import { startWorker } from "../worker.ts";

const TINY = { layers: 1, heads: 2, width: 16, context: 64 };
const SMALL: EngineSizes = { model: "kit/small", rows: 8, length: 96, steps: 6, runs: 7 };
const TRAIN: Record<Scope["size"], EngineSizes> = {
  full: SMALL,
  quick: { ...SMALL, steps: 3 },
  tiny: { model: TINY, rows: 2, length: 16, steps: 1, runs: 1 },
};
const MEGA = 1e6;

type Pair = { ours: number; baseline: number };
type Sample = { resident: number; arrays: number };

export const train: Row = {
  number: 16,
  work: "training `kit/small`, batch 8, context 96",
  baseline: "its matrix products alone",
  async measure(scope) {
    const values = await run<Pair>(scope, "train", scope.pick(TRAIN));
    return [{ ...values, unit: "tokens/s", goal: ratioAtLeast(0.4) }];
  },
};

export const memory: Row = {
  number: 16,
  work: "memory in the last fifth of 2,000 steps",
  baseline: "in the second fifth",
  async measure(scope) {
    const steps = scope.pick({ full: 2000, quick: 400, tiny: 20 });
    // Short rows allocate as many arrays per step as long ones, in a tenth of the time.
    const sizes = { ...scope.pick(TRAIN), rows: 1, length: 32, steps };
    const { before, after } = await run<{ before: Sample; after: Sample }>(scope, "memory", sizes);
    return [
      {
        part: "the process",
        ours: after.resident / MEGA,
        baseline: before.resident / MEGA,
        unit: "MB",
        goal: ratioAtMost(1.1),
      },
      {
        part: "the engine's arrays",
        ours: after.arrays / MEGA,
        baseline: before.arrays / MEGA,
        unit: "MB",
        goal: ratioAtMost(1.01),
      },
    ];
  },
};

/** Runs `programs/engine.ts`. */
function run<T>(scope: Scope, mode: string, sizes: EngineSizes): Promise<T> {
  const args = ["--expose-gc", program("engine"), mode, JSON.stringify(sizes)];
  return startWorker<T>(scope, process.execPath, args).ask();
}
