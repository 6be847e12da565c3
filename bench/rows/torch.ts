import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Simd } from "../../engines/embedded/kernels/simd.ts";
import { type StepSizes, shapeOf } from "../engine.ts";
import { type Goal, ratioAtLeast } from "../goals.ts";
import { newerNode } from "../newerNode.ts";
import { ROOT, STEP_SCRIPT, program } from "../paths.ts";
import type { Measured, Row } from "../row.ts";
import type { Scope } from "../scope.ts";
import { shortest } from "../statistics.ts";
import { startWorker } from "../worker.ts";

const NANO: StepSizes = { model: "kit/nano", rows: 32, length: 40 };
const SMALL: StepSizes = { model: "kit/small", rows: 8, length: 96 };
const TINY: StepSizes = {
  model: { layers: 1, heads: 2, width: 16, context: 64 },
  rows: 2,
  length: 16,
};
const TURNS = {
  full: { turns: 100, times: 5, withinMs: 150_000 },
  quick: { turns: 5, times: 5, withinMs: 60_000 },
  tiny: { turns: 1, times: 1, withinMs: 60_000 },
};
const PYTHON = join(ROOT, ".python", "bin", "python");

/** Measured steps, and their goals relative to PyTorch on as many threads. */
const PARTS: { simd: Simd; threads: number; goal?: Goal }[] = [
  { simd: "plain", threads: 1, goal: ratioAtLeast(0.5) },
  { simd: "relaxed", threads: 1, goal: ratioAtLeast(0.8) },
  { simd: "plain", threads: 2 },
  { simd: "relaxed", threads: 2, goal: ratioAtLeast(0.8) },
];

export const nanoStep = stepRow("`kit/nano`, 32 × 40", NANO);
export const smallStep = stepRow("`kit/small`, 8 × 96", SMALL);

function stepRow(name: string, full: StepSizes): Row {
  return {
    number: 19,
    work: `a whole step of ${name}`,
    baseline: "PyTorch's",
    async measure(scope) {
      const batch = scope.pick({ full, quick: full, tiny: TINY });
      const parts = scope.size === "tiny" ? PARTS.slice(0, 1) : PARTS;
      const steppers: Record<string, Stepper> = {};
      for (const { simd, threads } of parts) {
        steppers[`${simd} ${threads}`] = startOurs(scope, { ...batch, simd, threads });
      }
      if (existsSync(PYTHON) && scope.size !== "tiny") {
        for (const threads of [1, 2]) {
          steppers[`torch ${threads}`] = startTorch(scope, { ...batch, threads });
        }
      }
      return linesOf(parts, await speeds(steppers, batch, scope));
    },
  };
}

type Stepper = Parameters<typeof shortest>[0][string];

/** The best speed of each, in tokens per second. */
async function speeds(
  steppers: Record<string, Stepper>,
  { rows, length }: StepSizes,
  scope: Scope,
) {
  const best = await shortest(steppers, scope.pick(TURNS));
  return new Map(Object.entries(best).map(([name, ms]) => [name, (rows * length * 1000) / ms]));
}

function linesOf(parts: typeof PARTS, speeds: Map<string, number>): Measured[] {
  return parts.flatMap(({ simd, threads, goal }): Measured[] => {
    const ours = speeds.get(`${simd} ${threads}`) ?? NaN;
    const part = `${simd} SIMD, ${threads} ${threads === 1 ? "thread" : "threads"}`;
    const line = { part, ours, unit: "tokens/s" } as const;
    const torch = speeds.get(`torch ${threads}`);
    const beside =
      torch === undefined
        ? { ...line, part: `${part} (no PyTorch: npm run python)` }
        : { ...line, baseline: torch, ...(goal && { goal }) };
    const single = speeds.get(`${simd} 1`);
    if (threads === 1 || single === undefined) return [beside];
    const against = "ours on 1 thread";
    return [beside, { ...line, baseline: single, against, goal: ratioAtLeast(1.6) }];
  });
}

function startOurs(scope: Scope, sizes: StepSizes): Stepper {
  const node = sizes.simd === "relaxed" ? newerNode() : process.execPath;
  return startWorker(scope, node, [program("step"), JSON.stringify(sizes)]);
}

function startTorch(scope: Scope, { model, ...batch }: StepSizes): Stepper {
  const { ask } = startWorker<{ ms: number }>(scope, PYTHON, [STEP_SCRIPT]);
  const task = { ...batch, shape: shapeOf(model), steps: 1, device: "cpu", type: "float32" };
  return { ask: () => ask(task) };
}
