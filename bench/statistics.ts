const LEAST_RUNS = 7;

export function median(samples: number[]): number {
  return percentile(samples, 0.5);
}

/** @param share from 0 to 1; linear between the two nearest samples */
export function percentile(samples: number[], share: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)] ?? NaN;
  const above = sorted[Math.ceil(place)] ?? NaN;
  return below + (above - below) * (place - Math.floor(place));
}

/** How long something takes, in milliseconds. */
export async function time(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Ours and the baseline in turn, so that what else the machine does meets both. */
export interface Pair {
  /** Returns the figure of one run. */
  ours: () => number | Promise<number>;
  baseline: () => number | Promise<number>;
}

/** The median of each, of at least seven runs after one that is not counted; a single run counts. */
export async function alternate(
  { ours, baseline }: Pair,
  runs = LEAST_RUNS,
): Promise<{ ours: number; baseline: number }> {
  const samples = { ours: [] as number[], baseline: [] as number[] };
  for (let run = runs > 1 ? 0 : 1; run <= runs; run++) {
    const figures = { ours: await ours(), baseline: await baseline() };
    if (run === 0) continue;
    samples.ours.push(figures.ours);
    samples.baseline.push(figures.baseline);
  }
  return { ours: median(samples.ours), baseline: median(samples.baseline) };
}
