import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { TrainConfig } from "../protocol/trainConfig.ts";
import { KitError, isKitError, messageOf } from "../protocol/error.ts";
import type { Job } from "../protocol/job.ts";
import { makeDirectory } from "../disk/file.ts";
import { createJobId, isJobId } from "./id.ts";
import { writeJobFile } from "./jobFile.ts";
import { type Lease, holdLease } from "./lease.ts";
import { type LogWriter, openLog } from "./log.ts";
import { jobsPath, logPath } from "./paths.ts";

/** A job that this process owns: it alone writes the log, and its lease shows that it is alive. */
export interface OwnedJob {
  job: Job;
  /** Absolute path of the job's directory. */
  directory: string;
  append: LogWriter["append"];
  /**
   * Makes the job `running`, or `queued` again, in the eyes of all others.
   * @throws KitError `CANNOT_WRITE`
   */
  claimTurn: (hasTurn: boolean) => void;
  /** Gives the job up. Idempotent. */
  close: () => void;
}

/**
 * Makes a job in a project, which is `queued`.
 * @throws KitError `CANNOT_WRITE` when the project's folder cannot be written
 */
export function createOwnedJob(project: string, name: string, config: TrainConfig): OwnedJob {
  const root = jobsPath(project);
  const now = new Date();
  const id = createJobId(now, newestId(root));
  const directory = join(root, id);
  const createdAt = now.toISOString();
  let log: LogWriter | undefined;
  let lease: Lease | undefined;
  const close = () => {
    lease?.release();
    log?.close();
  };
  const claimTurn = (hasTurn: boolean) => {
    try {
      lease?.claimTurn(hasTurn);
    } catch (error) {
      throw cannotWrite(`Cannot write ${directory}`, error);
    }
  };
  try {
    makeDirectory(root);
    mkdirSync(directory);
    const { append } = (log = openLog(logPath(directory)));
    lease = holdLease(directory);
    // Last, because the job is there for others as soon as this file is.
    writeJobFile(directory, { id, name, createdAt, config });
    const job: Job = { id, name, status: "queued", createdAt };
    return { job, directory, append, claimTurn, close };
  } catch (error) {
    close();
    remove(directory);
    if (isKitError(error)) throw error;
    throw cannotWrite(`Cannot create a job in ${root}`, error);
  }
}

function newestId(root: string): string | undefined {
  try {
    return readdirSync(root).filter(isJobId).sort().at(-1);
  } catch {
    // It is the first job, or the folder cannot be read, which is told as the job is made.
    return undefined;
  }
}

function cannotWrite(what: string, cause: unknown): KitError {
  return new KitError(
    "CANNOT_WRITE",
    `${what}: ${messageOf(cause)}. Make the folder writable, or free disk space.`,
    { cause },
  );
}

function remove(directory: string): void {
  try {
    rmSync(directory, { recursive: true, force: true });
  } catch {
    // Without its job.json it is not listed.
  }
}
