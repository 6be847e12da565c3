import { join } from "node:path";
import { isRegularFile, writeFileAtomically } from "../disk/file.ts";
import { KitError, cannotWrite } from "../protocol/error.ts";

/** How often an owner checks for a request. */
const POLL_MS = 500;

/**
 * Asks the process that owns a job, on whichever machine, to cancel it.
 * @throws KitError `CANNOT_WRITE`
 */
export function requestCancel(directory: string): void {
  if (isRequested(directory)) return;
  try {
    writeFileAtomically(requestPath(directory), "");
  } catch (error) {
    throw cannotWrite(`write ${directory}`, error);
  }
}

/** For the owner: `signal` aborts once cancellation is requested. */
export function watchCancelRequest(directory: string): { signal: AbortSignal; stop: () => void } {
  const requested = new AbortController();
  const timer = setInterval(() => {
    if (!isRequested(directory)) return;
    clearInterval(timer);
    requested.abort(jobCancelled());
  }, POLL_MS);
  timer.unref();
  return { signal: requested.signal, stop: () => clearInterval(timer) };
}

export function jobCancelled(): KitError {
  return new KitError("CANCELLED", "The job was cancelled. Start another to train again.");
}

function isRequested(directory: string): boolean {
  return isRegularFile(requestPath(directory));
}

function requestPath(directory: string): string {
  return join(directory, "cancel");
}
