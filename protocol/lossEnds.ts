/** A run's first and last few losses, oldest first, to detect a rise. */
export interface LossEnds {
  first: readonly number[];
  last: readonly number[];
}

export const NO_LOSSES: LossEnds = { first: [], last: [] };

/** The first two steps are always logged. */
export const FIRST_LOSSES = 2;
const LAST_LOSSES = 10;
/** Factor above the first loss that counts as a rise: more than the noise of a model with little left to learn. */
const RISE_FACTOR = 1.25;
/** The factor for a single step, or for fewer than `MIN_LAST` last losses: more than any noise. */
const LEAP_FACTOR = 4;
const MIN_LAST = 3;
const DIVERGED_FACTOR = 10;
/** Minimum rise of a diverged loss, in nats. */
const MIN_RISE = 1;

/** Pure. */
export function addLoss({ first, last }: LossEnds, loss: number): LossEnds {
  if (first.length < FIRST_LOSSES) return { first: [...first, loss], last };
  return { first, last: [...last.slice(1 - LAST_LOSSES), loss] };
}

/** The first loss of a run that ended significantly above it; undefined otherwise. Pure. */
export function risenFrom(ends: LossEnds): number | undefined {
  const { first, last } = ends;
  const [firstLoss = NaN, second = NaN] = first;
  const start = second > LEAP_FACTOR * firstLoss ? firstLoss : Math.max(firstLoss, second);
  const factor = last.length < MIN_LAST ? LEAP_FACTOR : RISE_FACTOR;
  const hasRisen = last.length > 0 && meanEnd(ends) > factor * start && last.at(-1)! > firstLoss;
  return hasRisen ? firstLoss : undefined;
}

function meanEnd({ first, last }: LossEnds): number {
  if (last.length === 0) return first[1] ?? NaN;
  // Of at most half of the last losses, so that a short run may rise and fall again.
  const end = last.slice(-Math.max(1, Math.floor(last.length / 2)));
  return end.reduce((sum, loss) => sum + loss, 0) / end.length;
}

/**
 * The first loss of a diverged run, which ended ten times above it, and by at least a nat to ignore noise
 * near 0; undefined otherwise. Pure.
 */
export function divergedFrom(ends: LossEnds): number | undefined {
  const { first, last } = ends;
  const [firstLoss = NaN] = first;
  const end = last.at(-1) ?? first[1] ?? NaN;
  if (!(end > DIVERGED_FACTOR * firstLoss && end - firstLoss > MIN_RISE)) return undefined;
  // The last log alone may be an outlier.
  return meanEnd(ends) > DIVERGED_FACTOR * firstLoss ? firstLoss : undefined;
}

/** Advice for a risen loss. */
export const RISE_ADVICE = "try a lower learningRate or more warmupSteps";
