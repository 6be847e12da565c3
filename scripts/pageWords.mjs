/** Lines printed only on slow machines or while a callback waits. */
const WAITING_LINES = /^(waiting for callbacks|evaluated \d+ of |evaluating step ).*$/gm;
/** Words that differ between runs: job ids, AM and PM. */
const VARYING = /\d{8}-\d{6}-\d{3}-\w+|\b[AP]M\b/g;

export function wordsOf(text) {
  const stable = text.replaceAll(WAITING_LINES, " ").replaceAll(VARYING, " ");
  return [...new Set(stable.match(/\p{L}{2,}/gu))].sort();
}
