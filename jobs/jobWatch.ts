import { basename } from "node:path";
import { stampAt, statsOf } from "../disk/file.ts";
import type { Job } from "../protocol/job.ts";
import { isPlanned, readJobFile } from "./jobFile.ts";
import { type Newest, findNewest } from "./log/read.ts";
import { type OwnerObservation, watchOwner } from "./ownerWatch.ts";
import { leasePath, logPath } from "./paths.ts";
import { runsRemotely } from "./remoteLocation.ts";
import { type DerivedStatus, finalStatus, statusFromLease } from "./status.ts";

/** A job's list entry and, for a failed job, the reason. */
export interface JobState {
  job: Job;
  error?: string | undefined;
}

/** Stamps of the files that prove a job's end. While they stay the same, so does the status. */
interface Proof {
  log: string;
  /** Set if the log has no end, but the lease proves that the owner is gone. */
  lease?: string;
}

interface ReadJob extends JobState {
  /** Undefined while the status can change, as when a silent owner comes back. */
  proof?: Proof | undefined;
}

/** The end of a job's log, with how the job ended. */
interface LogEnd extends Omit<Newest<DerivedStatus>, "stamp"> {
  /** Empty for a missing log, undefined for an unreadable one. */
  stamp: string | undefined;
}

/**
 * Returns a function that reads a job from its files and caches what can't change: `job.json` and the job's
 * end. The job stays the same object while its status does; undefined without a `job.json`.
 */
export function watchJob(
  directory: string,
  owner: () => OwnerObservation = watchOwner(directory),
): () => ReadJob | undefined {
  const path = logPath(directory);
  let last: ReadJob | undefined;
  /** The stamp of an invalid `job.json`. */
  let invalid: string | undefined;
  /** End of an unfinished job's log. */
  let lastEnd: LogEnd | undefined;

  /** Rereads the log only when it has changed. */
  function readEnd(): LogEnd {
    if (lastEnd && lastEnd.stamp === stampAt(path)) return lastEnd;
    lastEnd = findNewest(path, finalStatus);
    // An unreadable log has no stamp; a missing one has an empty stamp.
    return lastEnd ?? { hasRecords: false, stamp: statsOf(path) ? undefined : "" };
  }

  function readStatus(): DerivedStatus & Pick<ReadJob, "proof"> {
    let end = readEnd();
    if (!end.found && isPlanned(directory)) return { status: "queued", proof: undefined };
    if (!end.found) {
      const { lease, hasTurn, proof } = owner();
      // The owner may have written its last event and exited between the two reads.
      if (lease !== "held") end = readEnd();
      if (!end.found) {
        const isDetached = lease !== "held" && runsRemotely(directory);
        const reportedAt = isDetached ? statsOf(path)?.mtime : undefined;
        const isProven = !isDetached && end.stamp !== undefined && proof !== undefined;
        return {
          ...statusFromLease(end.hasRecords || hasTurn, lease, reportedAt),
          proof: isProven ? { log: end.stamp!, lease: proof } : undefined,
        };
      }
    }
    return { ...end.found, proof: end.stamp === undefined ? undefined : { log: end.stamp } };
  }

  /** Rereads an invalid file only when it changes. */
  function readFile() {
    const { file, stamp } = readJobFile(directory, invalid);
    invalid = file ? undefined : stamp;
    return file;
  }

  /** Whether the proof is still valid. An end in the log is final. */
  function isValid({ log, lease }: Proof): boolean {
    if (lease === undefined) return true;
    return log === stampAt(path) && lease === stampAt(leasePath(directory));
  }

  return () => {
    if (last?.proof && isValid(last.proof)) return last;
    const lastJob = last?.job;
    const file = lastJob ?? readFile();
    if (!file) return undefined;
    const { name, createdAt } = file;
    const { status, lastHeardAt, error, proof } = readStatus();
    const isSame = lastJob?.status === status && lastJob.lastHeardAt === lastHeardAt;
    const reportedAt = lastHeardAt !== undefined && { lastHeardAt };
    const job = isSame
      ? lastJob
      : { id: basename(directory), name, status, createdAt, ...reportedAt };
    last = { job, error, proof };
    return last;
  };
}
