/**
 * Settles as `work` does. Rejects when the event loop is empty: then nothing can settle it any more.
 * @param reason makes the error
 */
export async function untilIdle<T>(work: Promise<T>, reason: () => Error): Promise<T> {
  let giveUp = () => {};
  const stuck = new Promise<never>((_, reject) => {
    giveUp = () => reject(reason());
  });
  process.once("beforeExit", giveUp);
  try {
    return await Promise.race([work, stuck]);
  } finally {
    process.off("beforeExit", giveUp);
  }
}
