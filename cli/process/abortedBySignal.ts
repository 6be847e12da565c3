import { EXIT_CODE } from "./exitCode.ts";
import { onEndingSignal } from "./signals.ts";

/** How long what runs elsewhere may take to stop, in ms. */
const GRACE_MS = 5_000;

/**
 * Aborts at the first signal, so that what this process began elsewhere is stopped before it ends: a job
 * on other machines, which ends by itself if it can't be reached, or files that nobody needs. A second
 * signal ends it at once.
 */
export function abortedBySignal(): AbortSignal {
  const abort = new AbortController();
  onEndingSignal(() => {
    if (abort.signal.aborted) exitCancelled();
    setTimeout(exitCancelled, GRACE_MS);
    abort.abort();
  });
  return abort.signal;
}

export function exitCancelled(): never {
  process.exit(EXIT_CODE.cancelled);
}
