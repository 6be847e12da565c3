import { createHmac, timingSafeEqual } from "node:crypto";

/** Delay of each refusal; wrong secrets are answered one at a time. */
const WRONG_SECRET_MS = 1_000;
/** Further wrong secrets are refused at once. */
const MAX_DELAYED = 20;

/** Compares in constant time. */
export function isSameSecret(given: string, expected: string): boolean {
  const digest = (text: string) => createHmac("sha256", "kit").update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

/**
 * Slows down guessing.
 * @returns a function to await before refusing a wrong secret; resolves with false at once when too many
 * refusals wait already
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
