/** The first and the last few losses that a training logged, oldest first: enough to tell whether it rose. */
export interface LossEnds {
  first: readonly number[];
  last: readonly number[];
}

export const NO_LOSSES: LossEnds = { first: [], last: [] };

/** The first two steps are always logged. */
export const FIRST_LOSSES = 2;
const LAST_LOSSES = 10;
/** Fewer tell too little, unless they are far above. */
const MIN_LAST = 3;
/** Above the noise of a fine-tuning that has little left to learn. */
const MARGIN = 1.25;
/** No noise, but a training that blows up, be it from the first step to the second. */
const LEAP = 4;
const DIVERGED = 10;
/** In nats. */
const MIN_RISE = 1;

/** Pure. */
export function addLoss({ first, last }: LossEnds, loss: number): LossEnds {
  if (first.length < FIRST_LOSSES) return { first: [...first, loss], last };
  return { first, last: [...last.slice(1 - LAST_LOSSES), loss] };
}

/** The first loss of a training that ended above it; undefined if the noise can explain that. Pure. */
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
  // At most half of them, so that a short training may rise and come down again.
  const end = last.slice(-Math.max(1, Math.floor(last.length / 2)));
  return end.reduce((sum, loss) => sum + loss, 0) / end.length;
}

/**
 * The first loss of a training that ended ten times above it, which is no model any more, and by a nat
 * at least, so that the noise of a loss near 0 is none; undefined for any other. Pure.
 */
export function divergedFrom(ends: LossEnds): number | undefined {
  const { first, last } = ends;
  const [one = NaN] = first;
  const end = last.at(-1) ?? first[1] ?? NaN;
  if (!(end > DIVERGED * one && end - one > MIN_RISE)) return undefined;
  // One log may be an outlier.
  return meanEnd(ends) > DIVERGED * one ? one : undefined;
}

/** What to do about it. */
export const RISE_ADVICE = "try a lower learningRate or more warmupSteps";
