import { setTimeout as delay } from "node:timers/promises";
import type { Job } from "../protocol/job.ts";
import { isFinal } from "../protocol/job.ts";
import type { JobStore } from "./store.ts";

const POLL_MS = 1_000;

/**
 * Resolves when the job may train: one job of a project trains at a time, first come first served.
 * @throws the signal's reason when it is aborted first
 */
export async function waitForTurn(store: JobStore, id: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  while (!tryTurn(store, id)) {
    try {
      await delay(POLL_MS, undefined, { signal });
    } catch {
      // Aborted while waiting.
      signal.throwIfAborted();
    }
  }
}

/**
 * Claims first and looks again, without a lock: of two jobs that come at the same time each sees
 * the other's claim or comes too late to be overlooked, and both may step back, never both go on.
 */
function tryTurn(store: JobStore, id: string): boolean {
  const isFree = () => !store.list().some((other) => goesBefore(other, id));
  if (!isFree()) return false;
  store.claimTurn(id, true);
  if (isFree()) return true;
  store.claimTurn(id, false);
  return false;
}

function goesBefore(other: Job, id: string): boolean {
  if (other.id === id || isFinal(other.status)) return false;
  // A later id that has its turn made its checks before this job was on disk.
  return other.id < id || other.status === "running";
}
