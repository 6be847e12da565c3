import { ratioAtMost } from "../goals.ts";
import { openProcesses } from "../openProcess.ts";
import type { Measured, Row } from "../row.ts";
import type { Scope } from "../scope.ts";
import { shortest } from "../statistics.ts";
import type { Worker } from "../worker.ts";

interface Step {
  ms: number;
}

const TURNS = {
  full: { turns: 4, times: 1, withinMs: 150_000 },
  quick: { turns: 1, times: 1, withinMs: 60_000 },
  tiny: { turns: 1, times: 1, withinMs: 60_000 },
};
const PAIRS = 2;

export const preferenceStep: Row = {
  number: 30,
  work: "a step of DPO, 135M parameters with LoRA, 2 pairs of 2 × 256, 1 thread",
  baseline: "SFT",
  async measure(scope) {
    const { pairs, answers, trl } = start(scope, 1);
    const best = await shortest({ pairs, answers, trl }, scope.pick(TURNS));
    const line = { ours: best["pairs"] ?? NaN, unit: "ms" } as const;
    const lines: Measured[] = [
      {
        ...line,
        baseline: best["answers"] ?? NaN,
        goal: ratioAtMost(1.6),
      },
    ];
    const baseline = best["trl"];
    if (baseline === undefined) return lines;
    return [...lines, { ...line, against: "TRL", baseline, goal: ratioAtMost(1.2) }];
  },
};

export const preferenceMemory: Row = {
  number: 30,
  work: "the same, peak memory of the process",
  baseline: "SFT",
  async measure(scope) {
    const peaks: number[] = [];
    const { pairs, answers, trl } = start(scope, 2);
    for (const { ask, peak } of [pairs, answers, ...(trl ? [trl] : [])]) {
      await ask();
      await ask();
      peaks.push(peak());
    }
    const [ours = NaN, baseline = NaN, ofTrl] = peaks;
    const line = { ours, unit: "MB" } as const;
    const lines: Measured[] = [{ ...line, baseline, goal: ratioAtMost(1.3) }];
    if (ofTrl === undefined) return lines;
    return [...lines, { ...line, against: "TRL", baseline: ofTrl, goal: ratioAtMost(0.5) }];
  },
};

/** Starts processes: on pairs, on as many sequences, and TRL's on pairs. */
function start(
  scope: Scope,
  threads: number,
): Record<"pairs" | "answers", Worker<Step>> & { trl: Worker<Step> | undefined } {
  const { ours, torch, hasTrl } = openProcesses(scope);
  const length = scope.pick({ full: 256, quick: 256, tiny: 16 });
  const sizes = { length, threads, simd: scope.size === "tiny" ? "plain" : "relaxed" } as const;
  return {
    pairs: ours<Step>("prefer", { ...sizes, rows: PAIRS }),
    answers: ours<Step>("learn", { ...sizes, rows: 2 * PAIRS }),
    trl: hasTrl ? torch?.<Step>("prefer", { ...sizes, rows: PAIRS }) : undefined,
  };
}
