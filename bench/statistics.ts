const MIN_RUNS = 7;

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

/** One run of ours and one of the baseline, each with what it has measured. */
export interface Pair<T> {
  ours: () => T | Promise<T>;
  baseline: () => T | Promise<T>;
}

/**
 * Runs both in turn, so that what else the machine does meets both.
 * @returns what each run has measured, after one of each that is not counted; a single run counts
 */
export async function inTurn<T>(
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

/** The median of each, as measured by `inTurn`. */
export async function alternate(
  pair: Pair<number>,
  runs?: number,
): Promise<{ ours: number; baseline: number }> {
  const { ours, baseline } = await inTurn(pair, runs);
  return { ours: median(ours), baseline: median(baseline) };
}

/**
 * The shortest time that each of them answers: what else the machine does makes work slower only.
 * They take turns, so that a quiet moment meets all.
 * @param withinMs no turn of all begins later
 */
export async function shortest<Name extends string>(
  candidates: Record<Name, () => Promise<number>>,
  { turns, times, withinMs }: { turns: number; times: number; withinMs: number },
): Promise<Record<Name, number>> {
  const names = Object.keys(candidates) as Name[];
  const best = Object.fromEntries(names.map((name) => [name, Infinity])) as Record<Name, number>;
  const start = performance.now();
  for (let turn = 0; turn < turns && performance.now() - start < withinMs; turn++) {
    for (const name of names) {
      for (let i = 0; i < times; i++) best[name] = Math.min(best[name], await candidates[name]());
    }
  }
  return best;
}
