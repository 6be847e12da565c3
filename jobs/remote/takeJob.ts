import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { leaseOwner, watchLease } from "../../disk/lease.ts";
import { type Lock, takeLock } from "../../disk/lock.ts";
import type { Owner } from "../../disk/owner.ts";
import { KitError, cannotWrite, isKitError } from "../../protocol/error.ts";
import { isFinal } from "../../protocol/job.ts";
import { isJobId } from "../id.ts";
import { type OwnedJob, ownJob } from "../ownedJob.ts";
import { SILENCE_MS } from "../ownerWatch.ts";
import { jobsPath, leasePath } from "../paths.ts";
import { readRemoteLocation, runsRemotely } from "../remoteLocation.ts";
import { createJobStore } from "../store.ts";

const POLL_MS = 500;
/** Longer than it takes to take a job. */
const LOCK_MS = 5_000;

export interface TakeOptions {
  /** Called with a note if it takes a while. */
  onNote?: (text: string) => void;
  /** Waits for this many ms. */
  pause?: (ms: number) => Promise<unknown>;
}

/**
 * Takes over a remote job whose owner is gone. Only one of several processes succeeds.
 * @throws KitError `JOB_ENDED`, `JOB_TAKEN` by a process that follows it, `CANNOT_WRITE`
 */
export async function takeJob(
  project: string,
  id: string,
  { onNote = () => {}, pause = delay }: TakeOptions = {},
): Promise<OwnedJob> {
  const directory = join(jobsPath(project), id);
  const store = createJobStore(project);
  await waitForOwner(() => store.leaseOf(id), directory, id, { onNote, pause });
  let lock: Lock | undefined;
  try {
    lock = await takeLock(join(directory, "attach.lock"), LOCK_MS);
    const state = store.get(id);
    if (!lock || store.leaseOf(id) === "held") throw jobTaken(id, leaseOwner(leasePath(directory)));
    if (!state || isFinal(state.job.status)) throw jobEnded(id, state?.job.status);
    const { lastHeardAt: _, ...job } = state.job;
    return ownJob(directory, { ...job, status: "running" });
  } catch (error) {
    throw isKitError(error) ? error : cannotWrite(`write ${directory}`, error);
  } finally {
    lock?.release();
  }
}

/** @throws KitError `CANNOT_ATTACH` for a remote job with an unreadable `job.json` */
export function assertReadable(project: string, id: string): void {
  if (isJobId(id) && runsRemotely(join(jobsPath(project), id))) throw damagedJob(id);
}

export function damagedJob(id: string): KitError {
  return new KitError(
    "CANNOT_ATTACH",
    `Restore the damaged job.json of job ${id} to follow it; it still runs remotely.`,
  );
}

/** @throws KitError `JOB_ENDED`; `CANNOT_ATTACH` for one that runs here */
export function assertRemote(project: string, id: string): void {
  const { get, directoryOf } = createJobStore(project);
  const status = get(id)?.job.status;
  if (!status || isFinal(status)) throw jobEnded(id, status);
  if (readRemoteLocation(directoryOf(id))) return;
  if (runsRemotely(directoryOf(id))) {
    throw new KitError(
      "CANNOT_ATTACH",
      `Restore the damaged placement.json of job ${id} (where, address, checkpoints) to follow it; it still runs remotely.`,
    );
  }
  throw new KitError(
    "CANNOT_ATTACH",
    `Job ${id} runs on this machine, in its own process. Open kit ui to see it.`,
  );
}

/**
 * Waits for an owner that we can't check, as in a stopped container.
 * @throws KitError `JOB_TAKEN` when it is alive
 */
async function waitForOwner(
  leaseOf: () => string,
  directory: string,
  id: string,
  { onNote, pause }: Required<TakeOptions>,
): Promise<void> {
  const observe = watchLease(leasePath(directory));
  for (let isFirst = true; leaseOf() === "held"; isFirst = false) {
    const { record, state, hasChanged } = observe();
    if (state === "alive" || hasChanged) throw jobTaken(id, record?.owner);
    if (isFirst) {
      onNote(
        `waiting up to ${SILENCE_MS / 1000} s for the previous follower, which is not on this machine`,
      );
    }
    await pause(POLL_MS);
  }
}

function jobTaken(id: string, owner: Owner | undefined): KitError {
  const { pid = "?", host = "another machine" } = owner ?? {};
  return new KitError(
    "JOB_TAKEN",
    `Process ${pid} on ${host} already follows job ${id}. See it in kit ui; to cancel it, run npx kit cancel ${id}`,
  );
}

function jobEnded(id: string, status: string | undefined): KitError {
  return new KitError(
    "JOB_ENDED",
    `Job ${id} has ended: ${status ?? "it was deleted"}. Start another to train again.`,
  );
}
