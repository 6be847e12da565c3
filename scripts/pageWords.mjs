/** Lines that a slow machine alone prints, or a callback that waits. */
const OF_WAITING = /^(waiting for callbacks|evaluated \d+ of |evaluating step ).*$/gm;
/** What differs from run to run: ids of jobs, and halves of a day. */
const PASSING = /\d{8}-\d{6}-\d{3}-\w+|\b[AP]M\b/g;

export function wordsOf(text) {
  const lasting = text.replaceAll(OF_WAITING, " ").replaceAll(PASSING, " ");
  return [...new Set(lasting.match(/\p{L}{2,}/gu))].sort();
}
