import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { OTHERS_READ_FOLDER, makeDirectory, syncFile, syncFolder } from "../disk/file.ts";
import { type Lease, holdLease } from "../disk/lease.ts";
import { tryRemove } from "../disk/move.ts";
import { KitError, cannotWrite, isKitError } from "../protocol/error.ts";
import { isFinalEvent } from "../protocol/event.ts";
import type { Job } from "../protocol/job.ts";
import type { JobConfig } from "../protocol/trainConfig.ts";
import { watchCancelRequest } from "./cancelRequest.ts";
import { createJobId, readJobIds } from "./id.ts";
import { jobFilePath, writeJobFile } from "./jobFile.ts";
import { type LogWriter, openLog } from "./log/write.ts";
import type { JobLease } from "./ownerWatch.ts";
import { jobsPath, leasePath, logPath } from "./paths.ts";
import { type RemoteLocationRecord, writeRemoteLocation } from "./remoteLocation.ts";

/** A job that this process owns: only it writes the log, and its lease shows that it is alive. */
export interface OwnedJob {
  job: Job;
  /** Absolute path of the job's directory. */
  directory: string;
  append: LogWriter["append"];
  /**
   * Makes the job `running`, or `queued` again.
   * @throws KitError `CANNOT_WRITE`
   */
  claimTurn: (hasTurn: boolean) => void;
  /**
   * Records that training runs remotely, whatever happens to this process.
   * @throws KitError `CANNOT_WRITE`
   */
  recordRemote: (location: RemoteLocationRecord) => void;
  /** Aborted when another process has taken over the job. */
  taken: AbortSignal;
  /** Aborted when another process requests cancellation. */
  cancelled: AbortSignal;
  /** Releases the job. Idempotent. */
  close: () => void;
}

export interface CreateOptions {
  /** Whether other machines train it, so that local jobs don't wait for it. */
  remote?: boolean;
  /** Makes the job's id from the time and the project's newest id. */
  newId?: typeof createJobId;
}

/** Attempts to find a free id. The first nearly always works. */
const MAX_TRIES = 100;

/**
 * Creates a `queued` job in a project.
 * @throws KitError `CANNOT_WRITE` when the project's folder cannot be written
 */
export function createOwnedJob(
  project: string,
  name: string,
  config: JobConfig,
  { remote = false, newId = createJobId }: CreateOptions = {},
): OwnedJob {
  const root = jobsPath(project);
  let folder: ReturnType<typeof makeJobFolder> | undefined;
  let owned: OwnedJob | undefined;
  try {
    folder = makeJobFolder(root, newId);
    const { id, directory, createdAt } = folder;
    owned = ownJob(directory, { id, name, status: "queued", createdAt });
    // Last, because this file makes the job visible.
    writeJobFile(directory, { id, name, createdAt, config, ...(remote && { elsewhere: true }) });
    return owned;
  } catch (error) {
    owned?.close();
    // Without its job.json it is not listed.
    if (folder) tryRemove(folder.directory);
    throw isKitError(error) ? error : cannotWrite(`create a job in ${root}`, error);
  }
}

/**
 * Opens a job that nobody owns.
 * @throws any error of writing its files
 */
export function ownJob(directory: string, job: Job): OwnedJob {
  const log = openLog(logPath(directory));
  const taken = new AbortController();
  let lease: Lease<Pick<JobLease, "hasTurn">>;
  try {
    const onTaken = () => taken.abort(jobTaken(job.id));
    lease = holdLease(leasePath(directory), { hasTurn: job.status === "running" }, onTaken);
  } catch (error) {
    log.close();
    throw error;
  }
  const cancelRequest = watchCancelRequest(directory);
  const orCannotWrite = (write: () => void) => {
    try {
      write();
    } catch (error) {
      throw cannotWrite(`write ${directory}`, error);
    }
  };
  return {
    job,
    directory,
    taken: taken.signal,
    cancelled: cancelRequest.signal,
    append(event) {
      taken.signal.throwIfAborted();
      log.append(event);
      // A checkpoint is useless without its record.
      if (event.event === "checkpoint.saved" || isFinalEvent(event)) syncJob(directory);
    },
    claimTurn: (hasTurn) => orCannotWrite(() => lease.update({ hasTurn })),
    recordRemote(location) {
      orCannotWrite(() => writeRemoteLocation(directory, location));
      // Without it, nobody could find the remote job.
      syncJob(directory);
    },
    close() {
      cancelRequest.stop();
      lease.release();
      log.close();
    },
  };
}

function jobTaken(id: string): KitError {
  return new KitError(
    "JOB_TAKEN",
    `Another process took over job ${id}; this one was unresponsive for over a minute. See kit jobs.`,
  );
}

/** Makes a new folder; an existing one belongs to another job. */
export function makeJobFolder(root: string, newId: typeof createJobId = createJobId) {
  makeDirectory(root);
  for (let triesLeft = MAX_TRIES; ; triesLeft--) {
    const now = new Date();
    const id = newId(now, readJobIds(root)[0]);
    const directory = join(root, id);
    try {
      // Others may read the folder, but not write in it.
      mkdirSync(directory, OTHERS_READ_FOLDER);
      return { id, directory, createdAt: now.toISOString() };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST" || triesLeft === 1) throw error;
    }
  }
}

/** Flushes what is needed to find and resume a job after a power loss. */
function syncJob(directory: string): void {
  try {
    for (const path of [logPath(directory), jobFilePath(directory)]) syncFile(path);
    for (const path of [directory, dirname(directory)]) syncFolder(path);
  } catch {
    // Somebody deleted a file; the job continues.
  }
}
