import { type Goal, atMost, ratioAtMost } from "../goals.ts";
import { type OpenProcesses, openProcesses } from "../openProcess.ts";
import type { Measured, Row } from "../row.ts";
import { runAlternately, median, time } from "../statistics.ts";
import type { Unit } from "../unit.ts";

/** Starts a process, and measures it. */
type Measure = (start: OpenProcesses["ours"]) => Promise<number>;

interface Size {
  rows: number;
  length: number;
}

/** Sizes of runs of two steps, with the maximum memory in MB. */
const RUN_SIZES: (Size & { max?: number })[] = [
  { rows: 1, length: 256 },
  { rows: 4, length: 256, max: 1700 },
  { rows: 1, length: 2048, max: 2500 },
];
const [SMALL, TINY]: [Size, Size] = [
  { rows: 1, length: 256 },
  { rows: 1, length: 16 },
];
const THREADS = 2;
const RUNS = { full: 3, quick: 1, tiny: 1 };

export const openMemory: Row = {
  number: 22,
  work: "training 135M parameters with LoRA, peak memory of the process",
  baseline: "PyTorch's with PEFT",
  async measure(scope) {
    const processes = openProcesses(scope);
    const sizes = scope.pick({ full: RUN_SIZES, quick: RUN_SIZES, tiny: [TINY] });
    const lines: Measured[] = [];
    for (const { max, ...size } of sizes as typeof RUN_SIZES) {
      const measure: Measure = (start) => peakOf(start, size);
      const about = { part: `${size.rows} × ${size.length}`, unit: "MB" } as const;
      const line = await besideTorch(processes, 1, { ...about, measure, goal: ratioAtMost(0.45) });
      lines.push(line);
      if (max !== undefined) lines.push({ ...about, ours: line.ours, goal: atMost(max) });
    }
    return lines;
  },
};

/** Peak memory of a whole run, with relaxed SIMD: the same arrays as without it, in half the time. */
async function peakOf(start: OpenProcesses["ours"], size: Size): Promise<number> {
  const { ask, peak } = start("train", { ...size, simd: "relaxed", threads: THREADS });
  await ask();
  await ask();
  return peak();
}

export const openLaunch: Row = {
  number: 22,
  work: "the same, 1 × 256, from launching the process to the first step's loss",
  baseline: "PyTorch's with PEFT",
  async measure(scope) {
    const size = scope.pick({ full: SMALL, quick: SMALL, tiny: TINY });
    const measure: Measure = (start) =>
      time(() => start("train", { ...size, threads: THREADS }).ask());
    const about = { measure, unit: "ms", goal: ratioAtMost(1) } as const;
    return [await besideTorch(openProcesses(scope), scope.pick(RUNS), about)];
  },
};

/** The median of each; only ours without PyTorch. */
async function besideTorch(
  { ours, torch }: OpenProcesses,
  runs: number,
  { measure, unit, goal, part }: { measure: Measure; unit: Unit; goal: Goal; part?: string },
): Promise<Measured> {
  const baseline = () => (torch ? measure(torch) : NaN);
  const values = await runAlternately({ ours: () => measure(ours), baseline }, runs);
  const line = { ours: median(values.ours), unit, ...(part !== undefined && { part }) };
  if (torch) return { ...line, baseline: median(values.baseline), goal };
  return { ...line, part: `${part ?? "ours alone"} (no PyTorch: npm run python)` };
}
