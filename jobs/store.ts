import { readdirSync } from "node:fs";
import { join } from "node:path";
import { isFolder } from "../disk/file.ts";
import { tryRemove } from "../disk/move.ts";
import type { Job } from "../protocol/job.ts";
import { isJobId, readJobIds } from "./id.ts";
import { type JobState, watchJob } from "./jobWatch.ts";
import { type LeaseState, type OwnerObservation, watchOwner } from "./ownerWatch.ts";
import { jobsPath, logPath } from "./paths.ts";
import { runsRemotely } from "./remoteLocation.ts";

export interface JobStoreOptions {
  /** How long a check of an owner is cached, in ms. Default 0: each check reads the lease. */
  ownersFreshMs?: number;
}

export interface JobStore {
  /**
   * All jobs, newest first. The array and each job stay the same objects until they change.
   * @throws KitError `CANNOT_READ`, `LINK_IN_KIT`
   */
  list: () => readonly Job[];
  get: (id: string) => JobState | undefined;
  /** Whether the log has a final event. */
  hasEnded: (id: string) => boolean;
  /**
   * The state of an unfinished job's owner. A `silent` one may come back. `unfollowed`: the job runs remotely without one.
   */
  leaseOf: (id: string) => LeaseState | "unfollowed";
  /** Expires all cached owner checks. */
  expireOwners: () => void;
  /** While frozen, owners keep their last state. */
  freezeOwners: (isFrozen: boolean) => void;
  /** The job's folder, whether or not it exists. */
  directoryOf: (id: string) => string;
  logPath: (id: string) => string;
}

/** The jobs in `.kit/jobs` of a project. */
export function createJobStore(
  project: string,
  { ownersFreshMs = 0 }: JobStoreOptions = {},
): JobStore {
  const root = jobsPath(project);
  const directoryOf = (id: string) => `${root}/${id}`;
  const watches = new Map<
    string,
    { read: ReturnType<typeof watchJob>; owner: () => OwnerObservation }
  >();
  let jobs: readonly Job[] = [];
  let isFrozen = false;
  let expiredAt = -Infinity;

  function cached(observe: () => OwnerObservation): () => OwnerObservation {
    let lastCheck: { observation: OwnerObservation; at: number } | undefined;
    return () => {
      if (isFrozen) return lastCheck?.observation ?? { lease: "held", hasTurn: false };
      const at = performance.now();
      const isFresh = lastCheck && lastCheck.at > expiredAt && at - lastCheck.at < ownersFreshMs;
      if (!lastCheck || !isFresh) lastCheck = { observation: observe(), at };
      return lastCheck.observation;
    };
  }

  function watchOf(id: string) {
    let watch = watches.get(id);
    if (!watch) {
      const owner = cached(watchOwner(directoryOf(id)));
      watch = { owner, read: watchJob(directoryOf(id), owner) };
      watches.set(id, watch);
    }
    return watch;
  }

  function forgetAllBut(ids: readonly string[]): void {
    const kept = new Set(ids);
    for (const id of watches.keys()) if (!kept.has(id)) watches.delete(id);
  }

  return {
    list() {
      const ids = readJobIds(root);
      if (watches.size > 0) forgetAllBut(ids);
      const listed = ids.flatMap((id) => watchOf(id).read()?.job ?? []);
      const isSame = listed.length === jobs.length && listed.every((job, n) => job === jobs[n]);
      if (!isSame) jobs = listed;
      return jobs;
    },
    get(id) {
      if (!isJobId(id) || !isFolder(root) || !isFolder(directoryOf(id))) {
        watches.delete(id);
        return undefined;
      }
      const read = watchOf(id).read();
      return read && { job: read.job, error: read.error };
    },
    hasEnded(id) {
      const proof = watchOf(id).read()?.proof;
      return proof !== undefined && proof.lease === undefined;
    },
    leaseOf(id) {
      const { lease } = watchOf(id).owner();
      return lease !== "held" && runsRemotely(directoryOf(id)) ? "unfollowed" : lease;
    },
    expireOwners: () => void (expiredAt = performance.now()),
    freezeOwners: (value) => void (isFrozen = value),
    directoryOf,
    logPath: (id) => logPath(directoryOf(id)),
  };
}

/** Removes row files that killed runs left incomplete, which may be gigabytes. */
export function removePartialRows(jobs: JobStore): void {
  for (const { id, status } of jobs.list()) {
    if (status !== "failed" || jobs.leaseOf(id) !== "gone") continue;
    const directory = jobs.directoryOf(id);
    try {
      for (const name of readdirSync(directory)) {
        if (name.endsWith(".jsonl.partial")) tryRemove(join(directory, name));
      }
    } catch {
      // Another user's, or deleted.
    }
  }
}
