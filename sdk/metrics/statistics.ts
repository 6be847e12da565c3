/** The normal distribution's 97.5 % quantile, for 95 % intervals. */
const Z = 1.959963984540054;
/** Limits of a bootstrap's resamples, and of the values drawn for all of them. */
const [MAX_RESAMPLES, MIN_RESAMPLES, MAX_DRAWS] = [10_000, 1_000, 20_000_000];

export type Interval = readonly [low: number, high: number];

/** Wilson's 95 % interval of a proportion. Pure. */
export function wilson(successes: number, total: number): Interval {
  if (total === 0) return [0, 1];
  const p = successes / total;
  const scale = 1 + Z ** 2 / total;
  const center = (p + Z ** 2 / (2 * total)) / scale;
  const half = (Z / scale) * Math.sqrt((p * (1 - p)) / total + Z ** 2 / (4 * total ** 2));
  return [Math.max(0, center - half), Math.min(1, center + half)];
}

/**
 * The 95 % bootstrap interval of a mean, from up to 10,000 resamples; of paired differences, the paired
 * bootstrap's. Pure.
 * @param uniform a seeded generator of numbers from 0 to 1
 */
export function bootstrap(values: readonly number[], uniform: () => number): Interval {
  if (values.length === 0) return [0, 0];
  const resamples = Math.max(
    MIN_RESAMPLES,
    Math.min(MAX_RESAMPLES, Math.floor(MAX_DRAWS / values.length)),
  );
  const means = new Float64Array(resamples);
  for (let i = 0; i < resamples; i++) {
    let sum = 0;
    for (let n = 0; n < values.length; n++) sum += values[Math.floor(uniform() * values.length)]!;
    means[i] = sum / values.length;
  }
  return percentiles(means);
}

/** The 2.5 % and 97.5 % percentiles. Pure. */
export function percentiles(values: ArrayLike<number>): Interval {
  const sorted = Float64Array.from(values).sort();
  const quantile = (share: number) => sorted[Math.round(share * (sorted.length - 1))] ?? 0;
  return [quantile(0.025), quantile(0.975)];
}
