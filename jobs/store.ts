import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { TrainConfig } from "../protocol/engine.ts";
import { KitError, isKitError, messageOf } from "../protocol/error.ts";
import type { Job } from "../protocol/job.ts";
import { isFolder, makeDirectory, readJson, writeFileAtomically } from "./file.ts";
import { createJobId, isJobId } from "./id.ts";
import {
  type Lease,
  type LeaseState,
  createLeaseWatch,
  hasClaimedTurn,
  holdLease,
} from "./lease.ts";
import { type LogWriter, openLog } from "./log.ts";
import { INDEX_LEAST, createListIndex } from "./listIndex.ts";
import { createLogEnds } from "./logEnd.ts";
import { createJobFolders } from "./folders.ts";
import { type DerivedStatus, liveStatus } from "./status.ts";

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
  /**
   * All jobs, newest first. As long as nothing has changed it is the same array, and a job that has
   * not changed is the same object in the next.
   */
  list: () => readonly Job[];
  get: (id: string) => JobState | undefined;
  /** Whether the log itself says how the job ended. */
  hasEnded: (id: string) => boolean;
  /** Whether the owner of an unfinished job is gone for good. */
  isAbandoned: (id: string) => boolean;
  /** Whether the owner of an unfinished job has stopped reporting; it may come back. */
  isSilent: (id: string) => boolean;
  /** For as long as it holds, every owner counts as it was last seen. */
  holdOwners: (isHeld: boolean) => void;
  /** Makes a job that this store created `running`, or `queued` again, in the eyes of all others. */
  claimTurn: (id: string, hasTurn: boolean) => void;
  /** Where the job's events are, whether or not it exists. */
  logPath: (id: string) => string;
}

/** The jobs in `.kit/jobs` of a project. */
export function createJobStore(project: string): JobStore {
  const root = join(project, ".kit", "jobs");
  const leases = createLeaseWatch();
  const logEnds = createLogEnds();
  const folders = createJobFolders(root);
  const index = createListIndex(project);
  /** As they were last seen. */
  const states = new Map<string, JobState>();
  // A finished job stays as it is, so it is read once. With the stamps of the logs that say so.
  const finished = new Map<string, string>();
  /** Known from the index alone, which does not say why a job failed. */
  const indexed = new Set<string>();
  /** How many jobs the index may not have. */
  let unsaved = 0;
  const held = new Map<string, Lease>();
  /** Which jobs have a folder, as of the last list. */
  const present = new Set<string>();
  let listed: readonly string[] | undefined;
  let unfinished: readonly string[] = [];
  let jobs: readonly Job[] = [];
  /** Whether a state is another than in the last list. */
  let hasChanged = false;

  function get(id: string): JobState | undefined {
    if (!isJobId(id)) return undefined;
    if (!isFolder(root) || !isFolder(join(root, id))) {
      forget(id);
      return undefined;
    }
    if (indexed.delete(id)) finished.delete(id);
    return look(id);
  }

  /** The job's state now; the same object as before when it has not changed. */
  function look(id: string): JobState | undefined {
    const before = states.get(id);
    if (before && finished.has(id)) return before;
    const file = before?.job ?? readJobFile(id);
    if (!file) return undefined;
    const { status, error } = statusOf(id);
    if (before?.job.status === status && before.error === error) return before;
    const isSame = before?.job.status === status;
    const job = isSame ? before.job : { id, name: file.name, status, createdAt: file.createdAt };
    const state = { job, error };
    states.set(id, state);
    hasChanged ||= !isSame;
    return state;
  }

  function readJobFile(id: string): JobFile | undefined {
    const file = readJson(join(root, id, "job.json"));
    return isJobFile(file) ? file : undefined;
  }

  function statusOf(id: string): DerivedStatus {
    const directory = join(root, id);
    const path = logPath(id);
    let end = logEnds.read(path);
    let lease: LeaseState = "held";
    if (!end.final) {
      lease = checkLease(id);
      // The owner may have written its last event and ended between the two reads.
      if (lease !== "held") end = logEnds.read(path);
    }
    if (!end.final) return liveStatus(end.hasRecords || hasClaimedTurn(directory), lease);
    finished.set(id, end.stamp);
    unsaved++;
    leases.forget(id);
    logEnds.forget(path);
    return end.final;
  }

  function checkLease(id: string): LeaseState {
    return leases.check(id, join(root, id));
  }

  function hasEnded(id: string): boolean {
    look(id);
    return finished.has(id);
  }

  function logPath(id: string): string {
    return join(root, id, "events.ndjson");
  }

  function list(): readonly Job[] {
    const names = readNames();
    const areSame = names === listed;
    if (!areSame) notice(names);
    for (const id of unfinished) look(id);
    unfinished = unfinished.filter((id) => !finished.has(id));
    if (!areSame || hasChanged) jobs = collect(names);
    listed = names;
    hasChanged = false;
    if (unsaved >= INDEX_LEAST) saveIndex();
    return jobs;
  }

  /** Sees which jobs came and went. */
  function notice(names: readonly string[]): void {
    const came = names.filter((id) => !present.has(id));
    for (const id of came) present.add(id);
    if (present.size > names.length) forgetMissing(names);
    useIndex(came);
    unfinished = [...new Set([...came, ...unfinished])].filter((id) => present.has(id));
  }

  function collect(names: readonly string[]): Job[] {
    const found: Job[] = [];
    for (const id of names) {
      const state = states.get(id);
      if (state) found.push(state.job);
    }
    return found;
  }

  function useIndex(ids: readonly string[]): void {
    const unknown = ids.filter((id) => !states.has(id));
    if (unknown.length < INDEX_LEAST) return;
    for (const { id, name, status, createdAt, log } of index.find(unknown)) {
      states.set(id, { job: { id, name, status, createdAt } });
      finished.set(id, log);
      indexed.add(id);
    }
  }

  function saveIndex(): void {
    const ended = jobs.filter(({ id }) => finished.has(id));
    index.write(ended.map((job) => ({ ...job, log: finished.get(job.id) ?? "" })));
    unsaved = 0;
  }

  function readNames(): readonly string[] {
    try {
      return folders.read();
    } catch (error) {
      if (isKitError(error)) throw error;
      throw new KitError(
        "CANNOT_READ",
        `Cannot read ${root}: ${messageOf(error)}. Make the folder readable.`,
        {
          cause: error,
        },
      );
    }
  }

  function forgetMissing(names: readonly string[]): void {
    const remaining = new Set(names);
    for (const id of present) {
      if (!remaining.has(id)) forget(id);
    }
  }

  function forget(id: string): void {
    present.delete(id);
    states.delete(id);
    finished.delete(id);
    indexed.delete(id);
    leases.forget(id);
    logEnds.forget(logPath(id));
    listed = undefined;
  }

  return {
    get,
    list,
    hasEnded,
    isAbandoned: (id) => checkLease(id) === "gone",
    isSilent: (id) => checkLease(id) === "silent",
    holdOwners: leases.hold,
    logPath,
    claimTurn(id, hasTurn) {
      try {
        held.get(id)?.claimTurn(hasTurn);
      } catch (error) {
        throw cannotWrite(`Cannot write ${join(root, id)}`, error);
      }
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
