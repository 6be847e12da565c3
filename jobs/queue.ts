import { setTimeout as delay } from "node:timers/promises";
import { type Job, isFinal } from "../protocol/job.ts";
import { isPlanned, trainsRemotely } from "./jobFile.ts";
import type { OwnedJob } from "./ownedJob.ts";
import type { JobStore } from "./store.ts";

const POLL_MS = 1_000;

type Jobs = Pick<JobStore, "list" | "directoryOf">;

/**
 * Resolves when the job may train: one job of a project trains on this machine at a time, first come, first
 * served.
 * @param onWait called with each job that goes first
 * @throws the signal's reason if it is aborted first
 */
export async function waitForTurn(
  store: Jobs,
  owned: OwnedJob,
  signal: AbortSignal,
  onWait: (before: Job) => void = () => {},
): Promise<void> {
  signal.throwIfAborted();
  let waitedFor: string | undefined;
  for (;;) {
    const before = tryTurn(store, owned);
    if (!before) return;
    if (before.id !== waitedFor) onWait(before);
    waitedFor = before.id;
    try {
      await delay(POLL_MS, undefined, { signal });
    } catch {
      // Aborted while waiting.
      signal.throwIfAborted();
    }
  }
}

/**
 * Claims the turn, then checks again. This needs no lock: of two concurrent claims, at least one sees the
 * other. Both may step back, but never do both proceed.
 * @returns the job that goes first, or undefined when this one may train
 */
function tryTurn(store: Jobs, owned: OwnedJob): Job | undefined {
  const { id } = owned.job;
  const early = findAhead(store, id);
  if (early) return early;
  owned.claimTurn(true);
  const meanwhile = findAhead(store, id);
  if (meanwhile) owned.claimTurn(false);
  return meanwhile;
}

/** The running job, or else the next one to train. */
function findAhead(store: Jobs, id: string): Job | undefined {
  const before = store.list().filter((other) => {
    const directory = store.directoryOf(other.id);
    return goesBefore(other, id) && !trainsRemotely(directory) && !isPlanned(directory);
  });
  return before.find(({ status }) => status === "running") ?? before.at(-1);
}

function goesBefore(other: Job, id: string): boolean {
  if (other.id === id || isFinal(other.status)) return false;
  // A later job that runs checked before this job was on disk.
  return other.id < id || other.status === "running";
}
