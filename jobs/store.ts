import { isFolder } from "../disk/file.ts";
import { leaseOwner } from "../disk/lease.ts";
import type { Owner } from "../disk/owner.ts";
import type { Job } from "../protocol/job.ts";
import { isJobId } from "./id.ts";
import { trainsRemotely } from "./jobFile.ts";
import { type JobState, createJobReader } from "./jobReader.ts";
import { type LeaseState, createLeaseWatch } from "./leaseWatch.ts";
import { createJobList } from "./list.ts";
import { jobsPath, leasePath, logPath } from "./paths.ts";
import { type RemoteLocationRecord, runsRemotely, readRemoteLocation } from "./remoteLocation.ts";

export interface JobStoreOptions {
  /** How long a check of an owner counts, in ms. Default 0: each check reads the lease. */
  ownersFreshMs?: number;
}

export interface JobStore {
  /**
   * All jobs, newest first. The array stays the same as long as nothing changes, and a job the same
   * object as long as it doesn't.
   * @throws KitError `CANNOT_READ`, `LINK_IN_KIT`
   */
  list: () => readonly Job[];
  get: (id: string) => JobState | undefined;
  /** Whether the log itself says how the job ended. */
  hasEnded: (id: string) => boolean;
  /**
   * Whether the owner of an unfinished job is there. A `silent` one may come back. Without one, a job
   * goes on `remote` if it was handed over.
   */
  leaseOf: (id: string) => LeaseState | "remote";
  /** The process that owns the job, or owned it last. */
  ownerOf: (id: string) => Owner | undefined;
  /** Whether other machines train the job, handed over to them yet or not. */
  trainsRemotely: (id: string) => boolean;
  /** Where the job runs, unless it is here or was not handed over yet. */
  remoteLocationOf: (id: string) => RemoteLocationRecord | undefined;
  /** The next check of each owner reads its lease, whatever `ownersFreshMs` says. */
  expireOwners: () => void;
  /** While frozen, every owner counts as last seen. */
  freezeOwners: (isFrozen: boolean) => void;
  /** Where the job's events are, whether or not it exists. */
  logPath: (id: string) => string;
}

/** The jobs in `.kit/jobs` of a project. */
export function createJobStore(project: string, { ownersFreshMs }: JobStoreOptions = {}): JobStore {
  const root = jobsPath(project);
  const directoryOf = (id: string) => `${root}/${id}`;
  const leases = createLeaseWatch(ownersFreshMs);
  const reader = createJobReader(root, leases);
  return {
    list: createJobList(project, reader),
    get(id) {
      if (!isJobId(id) || !isFolder(root) || !isFolder(directoryOf(id))) return undefined;
      const read = reader.read(id);
      return read && { job: read.job, error: read.error };
    },
    hasEnded(id) {
      const proof = reader.read(id)?.proof;
      return proof !== undefined && proof.lease === undefined;
    },
    leaseOf(id) {
      const { lease } = leases.check(id, directoryOf(id));
      return lease !== "held" && runsRemotely(directoryOf(id)) ? "remote" : lease;
    },
    ownerOf: (id) => leaseOwner(leasePath(directoryOf(id))),
    trainsRemotely: (id) => trainsRemotely(directoryOf(id)),
    remoteLocationOf: (id) => readRemoteLocation(directoryOf(id)),
    expireOwners: leases.expire,
    freezeOwners: leases.freeze,
    logPath: (id) => logPath(directoryOf(id)),
  };
}
