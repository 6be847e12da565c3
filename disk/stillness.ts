/** How often a process at work touches the file that shows it. */
export const RENEWAL_MS = 2_000;
/** The most that one gap between two looks adds: in a longer one, the reader may have slept. */
const LONGEST_GAP_MS = 2 * RENEWAL_MS;

/**
 * Counts how long a file has stood still, on this reader's clock: clocks of two machines don't
 * compare. Only time between looks counts.
 * @returns takes the file's stamp; returns ms since it was first seen like this
 */
export function createStillness(): (stamp: string) => number {
  let last: { stamp: string; at: number; stillMs: number } | undefined;
  return (stamp) => {
    const at = performance.now();
    const isStill = last?.stamp === stamp;
    const stillMs = last && isStill ? last.stillMs + Math.min(at - last.at, LONGEST_GAP_MS) : 0;
    last = { stamp, at, stillMs };
    return stillMs;
  };
}
