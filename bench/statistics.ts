import type { Worker } from "./worker.ts";

const MIN_RUNS = 7;

export function median(samples: number[]): number {
  return percentile(samples, 0.5);
}

/** Interpolates linearly. @param share from 0 to 1 */
export function percentile(samples: number[], share: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const position = (sorted.length - 1) * share;
  const below = sorted[Math.floor(position)] ?? NaN;
  const above = sorted[Math.ceil(position)] ?? NaN;
  return below + (above - below) * (position - Math.floor(position));
}

/** Duration of some work, in ms. */
export async function time(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Processor time on one thread, because other work on the machine does not lengthen it; otherwise wall time. */
export function now(threads: number | undefined): number {
  const { user, system } = process.cpuUsage();
  return threads === 1 ? (user + system) / 1000 : performance.now();
}

/** Runs ours or the baseline once; each returns its measurement. */
export interface Pair<T> {
  ours: () => T | Promise<T>;
  baseline: () => T | Promise<T>;
}

/**
 * Alternates both, so that other work on the machine affects both.
 * @returns the measurements of all runs after a warm-up of each; a single run has no warm-up
 */
export async function runAlternately<T>(
  { ours, baseline }: Pair<T>,
  runs = MIN_RUNS,
): Promise<{ ours: T[]; baseline: T[] }> {
  const measured = { ours: [] as T[], baseline: [] as T[] };
  for (let run = runs > 1 ? 0 : 1; run <= runs; run++) {
    const [one, other] = [await ours(), await baseline()];
    if (run === 0) continue;
    measured.ours.push(one);
    measured.baseline.push(other);
  }
  return measured;
}

/** The medians of alternating runs. */
export async function alternate(
  pair: Pair<number>,
  runs?: number,
): Promise<{ ours: number; baseline: number }> {
  const { ours, baseline } = await runAlternately(pair, runs);
  return { ours: median(ours), baseline: median(baseline) };
}

/**
 * The shortest time of each, if it is there: other work on the machine only slows them. They alternate, so that all
 * share a quiet moment.
 * @param withinMs no round begins later
 */
export async function shortest(
  workers: Record<string, Pick<Worker<{ ms: number }>, "ask"> | undefined>,
  { turns, times, withinMs }: { turns: number; times: number; withinMs: number },
): Promise<Record<string, number>> {
  const best: Record<string, number> = {};
  const start = performance.now();
  for (let turn = 0; turn < turns && performance.now() - start < withinMs; turn++) {
    for (const [name, worker] of Object.entries(workers)) {
      for (let i = 0; worker && i < times; i++)
        best[name] = Math.min(best[name] ?? Infinity, (await worker.ask()).ms);
    }
  }
  return best;
}
