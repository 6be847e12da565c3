import { join } from "node:path";
import { KitError, isKitError, messageOf } from "../protocol/error.ts";
import type { Job } from "../protocol/job.ts";
import { isFolder } from "../disk/file.ts";
import { type FolderChanges, createJobFolders } from "./list/folders.ts";
import { isJobId } from "./id.ts";
import { createJobList } from "./list/jobList.ts";
import { type JobState, createJobStates } from "./jobStates.ts";
import { type LeaseState, createLeaseWatch } from "./leaseWatch.ts";
import { type IndexedJob, INDEX_LEAST, createListIndex } from "./list/listIndex.ts";
import { jobsPath, logPath } from "./paths.ts";

export interface JobStoreOptions {
  /** How long what was seen of an owner counts, in ms. Default 0: each look is one of its own. */
  ownersFreshMs?: number;
  /** Whether the system is asked to tell which jobs come and go, until `close`. Default false. */
  watching?: boolean;
}

export interface JobStore {
  /**
   * All jobs, newest first. As long as nothing has changed it is the same array, and a job that has
   * not changed is the same object in the next.
   * @throws KitError `CANNOT_READ`, `LINK_IN_KIT`
   */
  list: () => readonly Job[];
  get: (id: string) => JobState | undefined;
  /** Whether the log itself says how the job ended. */
  hasEnded: (id: string) => boolean;
  /** Whether the owner of an unfinished job is there: `silent` ones may come back. */
  leaseOf: (id: string) => LeaseState;
  /** For as long as it holds, every owner counts as it was last seen. */
  holdOwners: (isHeld: boolean) => void;
  /** Where the job's events are, whether or not it exists. */
  logPath: (id: string) => string;
  /** Needed only with `watching`. Idempotent. */
  close: () => void;
}

/** The jobs in `.kit/jobs` of a project. */
export function createJobStore(
  project: string,
  { ownersFreshMs, watching }: JobStoreOptions = {},
): JobStore {
  const root = jobsPath(project);
  const leases = createLeaseWatch(ownersFreshMs);
  const states = createJobStates(root, leases);
  const folders = createJobFolders(root, watching);
  const index = createListIndex(project);
  const listed = createJobList();
  /** Those that have to be looked at each time, as they are in the list if they are. */
  const unfinished = new Map<string, Job | undefined>();
  /** How many jobs the index may not have. */
  let unsaved = 0;
  const directoryOf = (id: string) => join(root, id);

  function get(id: string): JobState | undefined {
    if (!isJobId(id)) return undefined;
    if (!isFolder(root) || !isFolder(directoryOf(id))) {
      forget(id);
      return undefined;
    }
    if (states.isIndexed(id)) {
      states.doubt(id);
      unfinished.set(id, undefined);
    }
    return states.look(id);
  }

  function list(): readonly Job[] {
    const { came, went } = findChanges();
    for (const id of went) forget(id);
    for (const id of came) unfinished.set(id, undefined);
    useIndex(came);
    for (const [id, known] of unfinished) {
      const job = states.look(id)?.job;
      if (job && job !== known) listed.put(job);
      unfinished.set(id, job);
      if (states.endOf(id) === undefined) continue;
      unfinished.delete(id);
      if (!states.isIndexed(id)) unsaved++;
    }
    if (unsaved >= INDEX_LEAST) saveIndex();
    return listed.jobs();
  }

  function findChanges(): FolderChanges {
    try {
      return folders.look();
    } catch (error) {
      if (isKitError(error)) throw error;
      const message = `Cannot read ${root}: ${messageOf(error)}. Make the folder readable.`;
      throw new KitError("CANNOT_READ", message, { cause: error });
    }
  }

  function useIndex(ids: readonly string[]): void {
    const unknown = ids.filter((id) => !states.has(id));
    if (unknown.length < INDEX_LEAST) return;
    for (const job of index.find(unknown)) states.assume(job);
  }

  function saveIndex(): void {
    const jobs = listed.jobs().map((job) => ({ ...job, log: states.endOf(job.id) }));
    index.write(jobs.filter((job): job is IndexedJob => job.log !== undefined));
    unsaved = 0;
  }

  function forget(id: string): void {
    folders.forget(id);
    states.forget(id);
    listed.remove(id);
    unfinished.delete(id);
  }

  return {
    list,
    get,
    hasEnded(id) {
      states.look(id);
      return states.endOf(id) !== undefined;
    },
    leaseOf: (id) => leases.look(id, directoryOf(id)).lease,
    holdOwners: leases.hold,
    logPath: (id) => logPath(directoryOf(id)),
    close: folders.close,
  };
}
