import { createHmac, timingSafeEqual } from "node:crypto";

/** Wrong secrets are answered one at a time, each after this delay. */
const WRONG_SECRET_MS = 1_000;
/** Any more wrong ones at once are refused at once. */
const MOST_WAITING = 20;

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
export function createLateRefusal(): () => Promise<boolean> {
  let waiting = 0;
  let turn: Promise<void> = Promise.resolve();
  return async () => {
    if (waiting >= MOST_WAITING) return false;
    waiting++;
    turn = turn.then(() => new Promise((resolve) => setTimeout(resolve, WRONG_SECRET_MS).unref()));
    await turn;
    waiting--;
    return true;
  };
}
