import { join } from "node:path";
import { type Job, isFinal, isJobStatus } from "../../protocol/job.ts";
import { readJson, stampAt, writeFileAtomically } from "../../disk/file.ts";
import { isTime } from "../jobFile.ts";
import { jobsPath } from "../paths.ts";

/** So many jobs are worth the index; fewer are read from their own files in no time. */
export const INDEX_LEAST = 100;

/** Of the index: those of half a million jobs. */
const MOST_BYTES = 128 * 1024 * 1024;

/** A finished job, and the stamp of the log that says so. Its `job.json` is written only once. */
export interface IndexedJob extends Job {
  log: string;
}

/** `.kit/jobs-index.json`: the finished jobs as they were last read, so as not to read them again. */
export interface ListIndex {
  /** Those of some jobs that are in the index and whose logs are as they were. */
  find: (ids: readonly string[]) => IndexedJob[];
  /** Puts these in place of what the index has. Where that cannot be, it is left as it is. */
  write: (jobs: IndexedJob[]) => void;
}

/** @param project the project's folder */
export function createListIndex(project: string): ListIndex {
  const root = jobsPath(project);
  const path = join(project, ".kit", "jobs-index.json");
  return {
    find(ids) {
      const known = new Map<string, IndexedJob>();
      for (const entry of readEntries(path)) known.set(entry.id, entry);
      const found: IndexedJob[] = [];
      for (const id of ids) {
        const entry = known.get(id);
        if (entry && entry.log === stampAt(`${root}/${id}/events.ndjson`)) found.push(entry);
      }
      return found;
    },
    write(jobs) {
      try {
        writeFileAtomically(path, JSON.stringify(jobs));
      } catch {
        // Read-only, or the disk is full: the next reader takes longer, that is all.
      }
    },
  };
}

function readEntries(path: string): IndexedJob[] {
  const content = readJson(path, MOST_BYTES);
  return Array.isArray(content) ? content.filter(isIndexedJob) : [];
}

function isIndexedJob(value: unknown): value is IndexedJob {
  const { id, name, status, createdAt, log } = (value ?? {}) as Partial<IndexedJob>;
  return (
    typeof id === "string" &&
    typeof name === "string" &&
    typeof createdAt === "string" &&
    isTime(createdAt) &&
    typeof log === "string" &&
    isJobStatus(status) &&
    isFinal(status)
  );
}
