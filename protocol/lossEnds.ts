/** A run's first and last few losses, oldest first, to detect a rise. */
export interface LossEnds {
  first: readonly number[];
  last: readonly number[];
}

export const NO_LOSSES: LossEnds = { first: [], last: [] };

/** The first two steps are always logged. */
export const FIRST_LOSSES = 2;
const LAST_LOSSES = 10;
/** Fewer last losses count only if they are far above. */
const MIN_LAST = 3;
/** Above the noise of fine-tuning that has little left to learn. */
const MARGIN = 1.25;
/** Beyond noise: the loss explodes, even from the first step to the second. */
const LEAP = 4;
const DIVERGED = 10;
/** In nats. */
const MIN_RISE = 1;

/** Pure. */
export function addLoss({ first, last }: LossEnds, loss: number): LossEnds {
  if (first.length < FIRST_LOSSES) return { first: [...first, loss], last };
  return { first, last: [...last.slice(1 - LAST_LOSSES), loss] };
}

/** The first loss of a run that ended significantly above it; undefined otherwise. Pure. */
export function risenFrom(ends: LossEnds): number | undefined {
  const { first, last } = ends;
  const [one = NaN, two = NaN] = first;
  const begin = two > LEAP * one ? one : Math.max(one, two);
  const mean = meanEnd(ends);
  const margin = last.length < MIN_LAST ? LEAP : MARGIN;
  return last.length > 0 && mean > margin * begin && last.at(-1)! > one ? one : undefined;
}

function meanEnd({ first, last }: LossEnds): number {
  if (last.length === 0) return first[1] ?? NaN;
  // At most half, so that a short run may rise and fall again.
  const end = last.slice(-Math.max(1, Math.floor(last.length / 2)));
  return end.reduce((sum, loss) => sum + loss, 0) / end.length;
}

/**
 * The first loss of a diverged run, which ended ten times above it, and by at least a nat to ignore noise
 * near 0; undefined otherwise. Pure.
 */
export function divergedFrom(ends: LossEnds): number | undefined {
  const { first, last } = ends;
  const [one = NaN] = first;
  const end = last.at(-1) ?? first[1] ?? NaN;
  if (!(end > DIVERGED * one && end - one > MIN_RISE)) return undefined;
  // One log may be an outlier.
  return meanEnd(ends) > DIVERGED * one ? one : undefined;
}

/** Advice for a risen loss. */
export const RISE_ADVICE = "try a lower learningRate or more warmupSteps";
