import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Simd } from "../../engines/embedded/kernels/simd.ts";
import { VOCABULARY } from "../../engines/llama/tokenizer.ts";
import { feedForwardWidth } from "../../engines/llama/weights.ts";
import { type EngineSizes, shapeOf } from "../engine.ts";
import { type Goal, ratioAtLeast } from "../goals.ts";
import { newerNode } from "../newerNode.ts";
import { ROOT } from "../places.ts";
import type { Measured, Row } from "../row.ts";
import type { Scope } from "../scope.ts";
import { run } from "./engine.ts";

const NANO: EngineSizes = { model: "kit/nano", rows: 32, length: 40, steps: 10, runs: 3 };
const SMALL: EngineSizes = { model: "kit/small", rows: 8, length: 96, steps: 10, runs: 3 };
const TINY: EngineSizes = {
  model: { layers: 1, heads: 2, width: 16, context: 64 },
  ...{ rows: 2, length: 16, steps: 1, runs: 1 },
};
const PYTHON = join(ROOT, ".python", "bin", "python");

/** Which steps, against PyTorch's on as many threads. */
const PARTS: { simd: Simd; threads: number; goal?: Goal }[] = [
  { simd: "plain", threads: 1, goal: ratioAtLeast(0.5) },
  { simd: "relaxed", threads: 1, goal: ratioAtLeast(0.8) },
  { simd: "plain", threads: 2 },
  { simd: "relaxed", threads: 2, goal: ratioAtLeast(0.8) },
];

function stepRow(name: string, full: EngineSizes): Row {
  return {
    number: 19,
    work: `a whole step of ${name}`,
    baseline: "PyTorch's",
    async measure(scope) {
      const sizes = scope.pick({ full, quick: { ...full, runs: 1 }, tiny: TINY });
      const parts = scope.size === "tiny" ? PARTS.slice(0, 1) : PARTS;
      const lines: Measured[] = [];
      const speeds = new Map<string, number>();
      for (const { simd, threads, goal } of parts) {
        const node = simd === "relaxed" ? newerNode() : process.execPath;
        const { speed } = await run<{ speed: number }>(
          scope,
          "step",
          { ...sizes, simd, threads },
          node,
        );
        speeds.set(`${simd} ${threads}`, speed);
        const part = `${simd} SIMD, ${threads} ${threads === 1 ? "thread" : "threads"}`;
        const baseline =
          scope.size === "tiny" ? undefined : await torchSpeed(scope, sizes, threads);
        const unit = "tokens/s";
        if (baseline === undefined)
          lines.push({ part: `${part} (no PyTorch: npm run python)`, ours: speed, unit });
        else lines.push({ part, ours: speed, baseline, unit, ...(goal && { goal }) });
        const single = speeds.get(`${simd} 1`);
        if (threads > 1 && single !== undefined) {
          const against = "ours on 1 thread";
          lines.push({
            part,
            ours: speed,
            baseline: single,
            against,
            unit,
            goal: ratioAtLeast(1.6),
          });
        }
      }
      return lines;
    },
  };
}

export const nanoStep = stepRow("`kit/nano`, 32 × 40", NANO);
export const smallStep = stepRow("`kit/small`, 8 × 96", SMALL);

/** Nothing where there is no Python environment. */
async function torchSpeed(
  scope: Scope,
  { model, rows, length, steps, runs }: EngineSizes,
  threads: number,
): Promise<number | undefined> {
  if (!existsSync(PYTHON)) return undefined;
  const { width, layers, heads, context } = shapeOf(model);
  const sizes = {
    ...{ width, layers, heads, context, rows, length, threads, steps: steps * runs },
    ...{ hidden: feedForwardWidth(width), vocabulary: VOCABULARY },
  };
  const script = join(ROOT, "bench", "python", "step.py");
  const child = scope.start(PYTHON, [script, JSON.stringify(sizes)]);
  let printed = "";
  child.stdout?.on("data", (chunk: Buffer) => (printed += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`PyTorch's process ended with ${code}.`);
  return (JSON.parse(printed) as { speed: number }).speed;
}
