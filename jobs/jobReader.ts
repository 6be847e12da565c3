import { stampAt, statsOf } from "../disk/file.ts";
import type { Job } from "../protocol/job.ts";
import { createJobFiles } from "./jobFile.ts";
import type { LeaseWatch } from "./leaseWatch.ts";
import { type Newest, findNewest } from "./log/read.ts";
import { leasePath, logPath } from "./paths.ts";
import { runsRemotely } from "./remoteLocation.ts";
import { type DerivedStatus, finalStatus, liveStatus } from "./status.ts";

/** A job as it stands: the list's entry and, for a failed job, the sentence that says why. */
export interface JobState {
  job: Job;
  error?: string;
}

/** The stamps of the files that prove that a job has ended. Its status holds as long as they do. */
export interface Proof {
  log: string;
  /** Only where the log doesn't say how the job ended, but its lease proves that the owner is gone. */
  lease?: string;
}

interface ProvenStatus extends DerivedStatus {
  /** Undefined while the status can change by itself, as a silent owner's job can heal. */
  proof?: Proof;
}

/** The end of a job's log, with how the job ended. */
interface LogEnd extends Omit<Newest<DerivedStatus>, "stamp"> {
  /** Empty for a missing log, undefined for an unreadable one. */
  stamp: string | undefined;
}

export interface ReadJob extends JobState {
  proof?: Proof;
}

/** Derives the states of jobs from their files. */
export interface JobReader {
  /**
   * @param known the job as it was last read: spares reading `job.json`, which is written once. It
   * is returned as long as its status is the same
   * @returns undefined without a `job.json`
   */
  read: (id: string, known?: Job) => ReadJob | undefined;
  /** Frees the memory of a job that is gone from the disk. */
  forget: (id: string) => void;
}

/** @param root the folder of all jobs */
export function createJobReader(root: string, leases: LeaseWatch): JobReader {
  const files = createJobFiles();
  /** The ends of unfinished jobs' logs, by path. */
  const ends = new Map<string, Newest<DerivedStatus>>();

  /** Rereads a log only when it has changed. */
  function endOf(path: string): LogEnd {
    const known = ends.get(path);
    if (known && known.stamp === stampAt(path)) return known;
    const end = findNewest(path, finalStatus);
    // Only a log that isn't there stays the same as long as its stamp does.
    if (!end) return { hasRecords: false, stamp: statsOf(path) ? undefined : "" };
    // Also one without a record, so that a large one is not read each time.
    if (!end.found) ends.set(path, end);
    return end;
  }

  function statusOf(id: string, directory: string): ProvenStatus {
    const path = logPath(directory);
    let end = endOf(path);
    if (!end.found) {
      const owner = leases.check(id, directory);
      // The owner may have written its last event and exited between the two reads.
      if (owner.lease !== "held") end = endOf(path);
      if (!end.found) {
        const isAway = owner.lease !== "held" && runsRemotely(directory);
        const heard = isAway ? statsOf(path)?.mtime : undefined;
        const status = liveStatus(end.hasRecords || owner.hasTurn, owner.lease, heard);
        return { ...status, proof: isAway ? undefined : proofOf(end.stamp, owner.proof) };
      }
    }
    leases.forget(id);
    ends.delete(path);
    return { ...end.found, proof: end.stamp === undefined ? undefined : { log: end.stamp } };
  }

  return {
    read(id, known) {
      const directory = `${root}/${id}`;
      const file = known ?? files.read(directory);
      if (!file) return undefined;
      const { status, lastHeardAt, error, proof } = statusOf(id, directory);
      const isSame = known?.status === status && known.lastHeardAt === lastHeardAt;
      const { name, createdAt } = file;
      const job = {
        id,
        name,
        status,
        createdAt,
        ...(lastHeardAt !== undefined && { lastHeardAt }),
      };
      return { job: isSame ? known : job, error, proof };
    },
    forget(id) {
      const directory = `${root}/${id}`;
      leases.forget(id);
      files.forget(directory);
      ends.delete(logPath(directory));
    },
  };
}

function proofOf(log: string | undefined, lease: string | undefined): Proof | undefined {
  return log === undefined || lease === undefined ? undefined : { log, lease };
}

/** Whether a job's end is still proven. One that its log says is for good. */
export function holds({ log, lease }: Proof, directory: string): boolean {
  if (lease === undefined) return true;
  return log === stampAt(logPath(directory)) && lease === stampAt(leasePath(directory));
}
