import type { Simd } from "../../engines/embedded/kernels/simd.ts";
import { type Goal, atMost, ratioAtLeast, ratioAtMost } from "../goals.ts";
import { mixedLengths } from "../openModel.ts";
import { openProcesses } from "../openProcess.ts";
import type { Measured, Row } from "../row.ts";
import type { Scope } from "../scope.ts";
import { shortest } from "../statistics.ts";
import type { Worker } from "../worker.ts";

interface Step {
  ms: number;
  loss: number;
}

const TURNS = {
  full: { turns: 4, times: 1, withinMs: 100_000 },
  quick: { turns: 1, times: 1, withinMs: 60_000 },
  tiny: { turns: 1, times: 1, withinMs: 60_000 },
};
/** Measured steps, and their goals relative to PyTorch on as many threads. */
const PARTS: { simd: Simd; threads: number; goal: Goal }[] = [
  { simd: "plain", threads: 1, goal: ratioAtMost(3) },
  { simd: "relaxed", threads: 1, goal: ratioAtMost(2) },
  { simd: "plain", threads: 2, goal: ratioAtMost(3) },
  { simd: "relaxed", threads: 2, goal: ratioAtMost(2) },
];

export const openStep = stepRow(1);
export const openBatch = stepRow(4);

function stepRow(rows: number): Row {
  return {
    number: 22,
    work: `a step of 135M parameters with LoRA, ${rows} × 256`,
    baseline: "PyTorch's with PEFT",
    measure: (scope) => measureSteps(scope, rows),
  };
}

async function measureSteps(scope: Scope, rows: number): Promise<Measured[]> {
  const { ours, torch } = openProcesses(scope);
  const size = { rows, length: scope.pick({ full: 256, quick: 256, tiny: 16 }) };
  const parts = scope.size === "tiny" ? PARTS.slice(0, 1) : PARTS;
  const workers: Record<string, Worker<Step>> = {};
  for (const { simd, threads } of parts) {
    workers[`${simd} ${threads}`] = ours("learn", { ...size, simd, threads });
  }
  for (const threads of torch ? [1, 2] : []) {
    workers[`torch ${threads}`] = torch!("learn", { ...size, threads });
  }
  const best = await shortest(workers, scope.pick(TURNS));
  return parts.map(({ simd, threads, goal }) => {
    const part = `${simd} SIMD, ${threads} ${threads === 1 ? "thread" : "threads"}`;
    const line = { part, ours: best[`${simd} ${threads}`] ?? NaN, unit: "ms" } as const;
    const baseline = best[`torch ${threads}`];
    if (baseline !== undefined) return { ...line, baseline, goal };
    return { ...line, part: `${part} (no PyTorch: npm run python)` };
  });
}

/** Rows per run, four per step; and runs. */
const MIXED = { full: 12, quick: 8, tiny: 4 };
const MIXED_TURNS = {
  full: { turns: 2, times: 1, withinMs: 300_000 },
  quick: { turns: 1, times: 1, withinMs: 60_000 },
  tiny: { turns: 1, times: 1, withinMs: 60_000 },
};

export const openMixed: Row = {
  number: 22,
  work: "135M parameters with LoRA, 4 rows of 8 to 1,024 tokens, 30 % of them learned",
  baseline: "PyTorch's with PEFT, padded to the longest",
  async measure(scope) {
    const { ours, torch } = openProcesses(scope);
    const lengths = mixedLengths(scope.pick(MIXED)).map((length) =>
      scope.size === "tiny" ? Math.min(length, 16) : length,
    );
    const tokens = lengths.reduce((sum, length) => sum + length, 0);
    const sizes = { rows: 4, length: 0, lengths };
    const lines: Measured[] = [];
    for (const threads of scope.size === "tiny" ? [1] : [1, 2]) {
      const simd = scope.size === "tiny" ? "plain" : "relaxed";
      const workers = {
        ours: ours<Step>("mixed", { ...sizes, simd, threads }),
        torch: torch?.<Step>("mixed", { ...sizes, threads }),
      };
      const best = await shortest(workers, scope.pick(MIXED_TURNS));
      const speed = (ms = NaN) => (tokens * 1000) / ms;
      const part = `relaxed SIMD, ${threads} ${threads === 1 ? "thread" : "threads"}`;
      const line = { part, ours: speed(best["ours"]), unit: "tokens/s" } as const;
      if (!torch) lines.push({ ...line, part: `${part} (no PyTorch: npm run python)` });
      else lines.push({ ...line, baseline: speed(best["torch"]), goal: ratioAtLeast(1.5) });
      if (threads === 1 || !workers.torch) continue;
      const memory = { part: "memory of the process", unit: "MB", goal: ratioAtMost(0.4) } as const;
      lines.push({ ...memory, ours: workers.ours.peak(), baseline: workers.torch.peak() });
    }
    return lines;
  },
};

const LOSSES = { full: 20, quick: 5, tiny: 2 };

export const openLosses: Row = {
  number: 22,
  work: "losses of such training, 1 × 64: difference from PyTorch's",
  async measure(scope) {
    const { ours, torch } = openProcesses(scope);
    const sizes = { rows: 1, length: scope.pick({ full: 64, quick: 64, tiny: 16 }), threads: 2 };
    const [own, other] = [ours<Step>("learn", sizes), torch?.<Step>("learn", sizes)];
    let difference = 0;
    for (let step = 0; step < scope.pick(LOSSES); step++) {
      const { loss } = await own.ask();
      if (other) difference = Math.max(difference, Math.abs(loss - (await other.ask()).loss));
    }
    const line = { ours: difference, unit: "" } as const;
    if (other) return [{ ...line, goal: atMost(2e-5) }];
    return [{ ...line, part: "not measured (no PyTorch: npm run python)" }];
  },
};
