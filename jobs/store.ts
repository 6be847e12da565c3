import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { TrainConfig } from "../protocol/engine.ts";
import { KitError, isKitError, messageOf } from "../protocol/error.ts";
import type { Job } from "../protocol/job.ts";
import { isFolder, makeDirectory, readJson, refuseLink, writeFileAtomically } from "./file.ts";
import { createJobId, isJobId } from "./id.ts";
import { type Lease, createLeaseWatch, hasClaimedTurn, holdLease } from "./lease.ts";
import { type LogWriter, openLog, readLogTail } from "./log.ts";
import { type DerivedStatus, finalStatus, liveStatus } from "./status.ts";

/** What is written once when a job is made. */
interface JobFile {
  id: string;
  name: string;
  createdAt: string;
  config: TrainConfig;
}

/** A job as it stands: what the list shows, and why it failed. */
export interface JobState {
  job: Job;
  error?: string;
}

/** A job that this process owns: it alone writes the log, and its lease shows that it is alive. */
export interface OwnedJob {
  job: Job;
  /** Absolute path of the job's directory. */
  directory: string;
  append: LogWriter["append"];
  /** Gives the job up. Idempotent. */
  close: () => void;
}

export interface JobStore {
  /** @throws KitError `CANNOT_WRITE` when the project's folder cannot be written */
  create: (name: string, config: TrainConfig) => OwnedJob;
  /** All jobs, newest first. */
  list: () => Job[];
  get: (id: string) => JobState | undefined;
  /** Whether the log itself says how the job ended. */
  hasEnded: (id: string) => boolean;
  /** Whether the owner of an unfinished job is gone for good. */
  isAbandoned: (id: string) => boolean;
  /** Whether the owner of an unfinished job has stopped reporting; it may come back. */
  isSilent: (id: string) => boolean;
  /** Makes a job that this store created `running`, or `queued` again, in the eyes of all others. */
  claimTurn: (id: string, hasTurn: boolean) => void;
  /** Where the job's events are, whether or not it exists. */
  logPath: (id: string) => string;
}

/** The jobs in `.kit/jobs` of a project. */
export function createJobStore(project: string): JobStore {
  const root = join(project, ".kit", "jobs");
  const leases = createLeaseWatch();
  const jobFiles = new Map<string, JobFile>();
  // A finished job stays as it is, so it is read once.
  const finished = new Map<string, DerivedStatus>();
  const held = new Map<string, Lease>();

  function get(id: string): JobState | undefined {
    if (!isJobId(id)) return undefined;
    if (isFolder(root) && isFolder(join(root, id))) return stateOf(id);
    forget(id);
    return undefined;
  }

  function stateOf(id: string): JobState | undefined {
    const file = jobFile(id);
    if (!file) return undefined;
    const { status, error } = statusOf(id);
    return { job: { id, name: file.name, status, createdAt: file.createdAt }, error };
  }

  function jobFile(id: string): JobFile | undefined {
    const known = jobFiles.get(id);
    if (known) return known;
    const file = readJson(join(root, id, "job.json"));
    if (!isJobFile(file)) return undefined;
    jobFiles.set(id, file);
    return file;
  }

  function statusOf(id: string): DerivedStatus {
    const known = finished.get(id);
    if (known) return known;
    // The lease first: an owner may write its last event and end between the two reads.
    const lease = leases.check(id, join(root, id));
    const records = readLogTail(logPath(id));
    const final = finalStatus(records);
    if (!final) {
      const hasStarted = records.length > 0 || hasClaimedTurn(join(root, id));
      return liveStatus(hasStarted, lease);
    }
    finished.set(id, final);
    leases.forget(id);
    return final;
  }

  function isAbandoned(id: string): boolean {
    return leases.check(id, join(root, id)) === "gone";
  }

  function isSilent(id: string): boolean {
    return leases.check(id, join(root, id)) === "silent";
  }

  function hasEnded(id: string): boolean {
    statusOf(id);
    return finished.has(id);
  }

  function logPath(id: string): string {
    return join(root, id, "events.ndjson");
  }

  function listNames(): string[] {
    refuseLink(root);
    try {
      const entries = readdirSync(root, { withFileTypes: true });
      const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
      return folders.filter(isJobId).sort().reverse();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw new KitError("CANNOT_READ", `Cannot read ${root}: ${messageOf(error)}.`, {
        cause: error,
      });
    }
  }

  function forgetMissing(names: string[]): void {
    const present = new Set(names);
    for (const id of jobFiles.keys()) {
      if (!present.has(id)) forget(id);
    }
  }

  function forget(id: string): void {
    jobFiles.delete(id);
    finished.delete(id);
    leases.forget(id);
  }

  return {
    get,
    hasEnded,
    isAbandoned,
    isSilent,
    logPath,
    claimTurn(id, hasTurn) {
      try {
        held.get(id)?.claimTurn(hasTurn);
      } catch (error) {
        throw cannotWrite(`Cannot write ${join(root, id)}`, error);
      }
    },
    list() {
      const names = listNames();
      forgetMissing(names);
      return names.map(stateOf).flatMap((state) => (state ? [state.job] : []));
    },
    create(name, config) {
      const now = new Date();
      const id = createJobId(now);
      const directory = join(root, id);
      const createdAt = now.toISOString();
      let log: LogWriter | undefined;
      let lease: Lease | undefined;
      const close = () => {
        held.delete(id);
        lease?.release();
        log?.close();
      };
      try {
        makeDirectory(root);
        mkdirSync(directory);
        const { append } = (log = openLog(logPath(id)));
        lease = holdLease(directory);
        held.set(id, lease);
        const file: JobFile = { id, name, createdAt, config };
        // Last, because the job is there for others as soon as this file is.
        writeFileAtomically(join(directory, "job.json"), `${JSON.stringify(file, null, 2)}\n`);
        return { job: { id, name, status: "queued", createdAt }, directory, append, close };
      } catch (error) {
        close();
        remove(directory);
        if (isKitError(error)) throw error;
        throw cannotWrite(`Cannot create a job in ${root}`, error);
      }
    },
  };
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

function isJobFile(value: unknown): value is JobFile {
  const file = value as Partial<JobFile> | null | undefined;
  return typeof file?.name === "string" && typeof file.createdAt === "string";
}
