import { stampAt, statsOf } from "../disk/file.ts";
import type { Job } from "../protocol/job.ts";
import { createJobFiles } from "./jobFile.ts";
import { leasePath } from "./lease.ts";
import type { LeaseWatch } from "./leaseWatch.ts";
import { createLogEnds } from "./logEnd.ts";
import { logPath } from "./paths.ts";
import { runsRemotely } from "./remoteLocation.ts";
import { type DerivedStatus, liveStatus } from "./status.ts";

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
  const logEnds = createLogEnds();

  function statusOf(id: string, directory: string): ProvenStatus {
    const path = logPath(directory);
    let end = logEnds.read(path);
    if (!end.final) {
      const owner = leases.check(id, directory);
      // The owner may have written its last event and exited between the two reads.
      if (owner.lease !== "held") end = logEnds.read(path);
      if (!end.final) {
        const isAway = owner.lease !== "held" && runsRemotely(directory);
        const heard = isAway ? statsOf(path)?.mtime : undefined;
        const status = liveStatus(end.hasRecords || owner.hasTurn, owner.lease, heard);
        return { ...status, proof: isAway ? undefined : proofOf(end.stamp, owner.proof) };
      }
    }
    leases.forget(id);
    logEnds.forget(path);
    return { ...end.final, proof: end.stamp === undefined ? undefined : { log: end.stamp } };
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
      logEnds.forget(logPath(directory));
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
