import { createHmac, timingSafeEqual } from "node:crypto";

/** Wrong secrets are answered one at a time, each after this delay. */
const WRONG_SECRET_MS = 1_000;
/** Any more wrong ones at once are refused at once. */
const MAX_DELAYED = 20;

/** Takes as long for a near miss as for a far one. */
export function isSameSecret(shown: string, wanted: string): boolean {
  const digest = (text: string) => createHmac("sha256", "kit").update(text).digest();
  return timingSafeEqual(digest(shown), digest(wanted));
}

/**
 * Makes guessing slow.
 * @returns a function that resolves late, to be awaited before each refusal of a wrong secret; with false, at
 * once, when too many wait already
 */
export function createRefusalDelay(): () => Promise<boolean> {
  let waiting = 0;
  let last: Promise<void> = Promise.resolve();
  return async () => {
    if (waiting >= MAX_DELAYED) return false;
    waiting++;
    last = last.then(() => new Promise((resolve) => setTimeout(resolve, WRONG_SECRET_MS).unref()));
    await last;
    waiting--;
    return true;
  };
}
