/** How long the project's code may take. */
const LIMIT_MS = 3_600_000;

/**
 * Settles as `work` does. Rejects when the event loop is empty, as then nothing can settle it any more, or
 * after the limit.
 * @param reason makes the error
 * @param limitMs default: an hour
 */
export async function untilIdle<T>(
  work: Promise<T>,
  reason: () => Error,
  limitMs = LIMIT_MS,
): Promise<T> {
  let giveUp = () => {};
  const stuck = new Promise<never>((_, reject) => {
    giveUp = () => reject(reason());
  });
  process.once("beforeExit", giveUp);
  const timer = setTimeout(giveUp, limitMs).unref();
  try {
    return await Promise.race([work, stuck]);
  } finally {
    process.off("beforeExit", giveUp);
    clearTimeout(timer);
  }
}
