import { setTimeout as delay } from "node:timers/promises";
import type { Job } from "../protocol/job.ts";
import { isFinal } from "../protocol/job.ts";
import type { OwnedJob } from "./ownedJob.ts";
import type { JobStore } from "./store.ts";

const POLL_MS = 1_000;

type Jobs = Pick<JobStore, "list">;

/**
 * Resolves when the job may train: one job of a project trains at a time, first come first served.
 * @param onWait told of the job that is waited for, and of each that comes after it
 * @throws the signal's reason when it is aborted first
 */
export async function waitForTurn(
  store: Jobs,
  owned: OwnedJob,
  signal: AbortSignal,
  onWait: (before: Job) => void = () => {},
): Promise<void> {
  signal.throwIfAborted();
  let told: string | undefined;
  for (;;) {
    const before = tryTurn(store, owned);
    if (!before) return;
    if (before.id !== told) onWait(before);
    told = before.id;
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
 * @returns the job that goes before this one, or undefined when this one may train
 */
function tryTurn(store: Jobs, owned: OwnedJob): Job | undefined {
  const { id } = owned.job;
  const early = findBefore(store, id);
  if (early) return early;
  owned.claimTurn(true);
  const meanwhile = findBefore(store, id);
  if (meanwhile) owned.claimTurn(false);
  return meanwhile;
}

/** The job that trains, or else the next that will. */
function findBefore(store: Jobs, id: string): Job | undefined {
  const before = store.list().filter((other) => goesBefore(other, id));
  return before.find(({ status }) => status === "running") ?? before.at(-1);
}

function goesBefore(other: Job, id: string): boolean {
  if (other.id === id || isFinal(other.status)) return false;
  // A later id that has its turn made its checks before this job was on disk.
  return other.id < id || other.status === "running";
}
