import type { Job } from "../protocol/job.ts";
import { createJobFiles } from "./jobFile.ts";
import type { LeaseWatch } from "./leaseWatch.ts";
import type { IndexedJob } from "./list/listIndex.ts";
import { createLogEnds } from "./logEnd.ts";
import { logPath } from "./paths.ts";
import { type DerivedStatus, liveStatus } from "./status.ts";

/** A job as it stands: what the list shows, and why it failed. */
export interface JobState {
  job: Job;
  error?: string;
}

interface Known {
  state: JobState;
  /** The stamp of the log that says how the job ended; undefined while none does. */
  ended?: string;
  /** Known from the index, which does not say why a job failed. */
  isIndexed?: boolean;
}

/** How each job was last seen. A finished one stays as it is, so it is read once. */
export interface JobStates {
  /** The job's state now; undefined without a `job.json`. The same object while it is the same. */
  look: (id: string) => JobState | undefined;
  /** The stamp of the log that says how the job ended, by what was last seen. */
  endOf: (id: string) => string | undefined;
  has: (id: string) => boolean;
  isIndexed: (id: string) => boolean;
  /** Takes a finished job for what the index says of it. */
  assume: (job: IndexedJob) => void;
  /** Reads a job from the index from its own files at the next look. */
  doubt: (id: string) => void;
  forget: (id: string) => void;
}

/** @param root the folder of all jobs */
export function createJobStates(root: string, leases: LeaseWatch): JobStates {
  const all = new Map<string, Known>();
  const files = createJobFiles();
  const logEnds = createLogEnds();

  function look(id: string): JobState | undefined {
    const known = all.get(id);
    if (known?.ended !== undefined) return known.state;
    const before = known?.state;
    const directory = `${root}/${id}`;
    const file = before?.job ?? files.read(directory);
    if (!file) return undefined;
    const { status, error, ended } = statusOf(id, directory);
    const isSame = before?.job.status === status;
    const job = isSame ? before.job : { id, name: file.name, status, createdAt: file.createdAt };
    const state = isSame && before.error === error ? before : { job, error };
    all.set(id, { state, ended });
    return state;
  }

  function statusOf(id: string, directory: string): DerivedStatus & { ended?: string } {
    const path = logPath(directory);
    let end = logEnds.read(path);
    if (!end.final) {
      const { lease, hasTurn } = leases.look(id, directory);
      // The owner may have written its last event and ended between the two reads.
      if (lease !== "held") end = logEnds.read(path);
      if (!end.final) return liveStatus(end.hasRecords || hasTurn, lease);
    }
    leases.forget(id);
    logEnds.forget(path);
    return { ...end.final, ended: end.stamp };
  }

  return {
    look,
    endOf: (id) => all.get(id)?.ended,
    has: (id) => all.has(id),
    isIndexed: (id) => all.get(id)?.isIndexed ?? false,
    assume({ id, name, status, createdAt, log }) {
      const state = { job: { id, name, status, createdAt } };
      all.set(id, { state, ended: log, isIndexed: true });
    },
    doubt(id) {
      const known = all.get(id);
      if (known?.isIndexed) all.set(id, { state: known.state });
    },
    forget(id) {
      all.delete(id);
      leases.forget(id);
      files.forget(`${root}/${id}`);
      logEnds.forget(logPath(`${root}/${id}`));
    },
  };
}
