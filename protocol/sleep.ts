// While a machine sleeps, its processes stand still. Clocks go on: the wall's everywhere, and on macOS and Windows
// also those of timers.

/** The most of a sleep that counts as time awake. */
const TICK_MS = 1_000;
/** Shorter pauses count as time awake. */
const MIN_SLEEP_MS = 30_000;
/** Work that takes this many times as long as usual was interrupted. */
const SLEEP_FACTOR = 5;

/** Like `setTimeout`, which would call back right after a sleep, but counts time awake. */
export function setAwakeTimeout(callback: () => void, ms: number): ReturnType<typeof setInterval> {
  let ticks = Math.max(1, Math.ceil(ms / TICK_MS));
  const timer = setInterval(() => {
    if (--ticks > 0) return;
    clearInterval(timer);
    callback();
  }, ms / ticks);
  return timer;
}

/**
 * How much of the time that some work took was sleep. Pure.
 * @param usualMs how long such work takes
 */
export function asleepMs(elapsedMs: number, usualMs: number): number {
  const isSleep = elapsedMs > MIN_SLEEP_MS && elapsedMs > SLEEP_FACTOR * usualMs;
  return isSleep ? elapsedMs - usualMs : 0;
}

/** The time between two logs. */
export interface Span {
  ms: number;
  steps: number;
}

/**
 * How much of a span was sleep, by those before and after it with the same work. Several long ones in a row are
 * slow work. 0 without any to compare with. Pure.
 */
export function asleepIn({ ms, steps }: Span, ...others: (Span | undefined)[]): number {
  const known = others.filter((other) => other !== undefined);
  if (known.length === 0) return 0;
  return asleepMs(
    ms,
    Math.max(...known.map((other) => other.ms * Math.max(1, steps / other.steps))),
  );
}
