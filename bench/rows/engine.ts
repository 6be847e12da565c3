import { once } from "node:events";
import { existsSync } from "node:fs";
import type { EngineSizes } from "../engine.ts";
import { ratioAtLeast, ratioAtMost } from "../goals.ts";
import { REAL_WEIGHTS, program } from "../paths.ts";
import type { Measured, Row } from "../row.ts";
import type { Scope } from "../scope.ts";

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

export const infer: Row = {
  number: 17,
  work: "`infer` with cache",
  baseline: "a token's matrix products alone",
  async measure(scope) {
    const steps = scope.pick({ full: 200, quick: 100, tiny: 4 });
    const small = { ...scope.pick(TRAIN), steps };
    const line = { unit: "tokens/s", goal: ratioAtLeast(0.1) } as const;
    const lines: Measured[] = [
      { part: "`kit/small`", ...(await run<Pair>(scope, "infer", small)), ...line },
    ];
    if (scope.size === "tiny" || !existsSync(REAL_WEIGHTS)) return lines;
    const real = { ...small, model: REAL_WEIGHTS, runs: 3 };
    return [
      ...lines,
      { part: "SmolLM2-135M", ...(await run<Pair>(scope, "infer", real)), ...line },
    ];
  },
};

/**
 * Runs `programs/engine.ts` and returns the JSON that it prints.
 * @param node the program that runs it
 */
export async function run<T>(
  scope: Scope,
  mode: string,
  sizes: EngineSizes,
  node = process.execPath,
): Promise<T> {
  const child = scope.start(node, ["--expose-gc", program("engine"), mode, JSON.stringify(sizes)]);
  let printed = "";
  child.stdout?.on("data", (chunk: Buffer) => (printed += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`The engine's process ended with ${code}.`);
  return JSON.parse(printed) as T;
}
