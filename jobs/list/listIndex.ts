import { join } from "node:path";
import { writeFileAtomically } from "../../disk/file.ts";
import { readJson } from "../../disk/json.ts";
import { type Job, isFinal, isJobStatus } from "../../protocol/job.ts";
import { isTime } from "../jobFile.ts";
import { type Proof, holds } from "../jobReader.ts";
import { jobsPath } from "../paths.ts";

/** The index pays from this many jobs on. Fewer are quickly read from their own files. */
export const INDEX_LEAST = 100;

/** The longest index that is read: that of half a million jobs. */
const MOST_BYTES = 128 * 1024 * 1024;

/** An ended job and the proof. Its `job.json` is written only once. */
export interface IndexedJob extends Job, Proof {}

/** `.kit/jobs-index.json`: the ended jobs as they were last read, which spares reading them again. */
export interface ListIndex {
  /** Finds the jobs whose proof still holds. */
  find: (ids: readonly string[]) => IndexedJob[];
  /** Replaces the index. If it can't be written, it stays as it is. */
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
        if (entry && holds(entry, `${root}/${id}`)) found.push(entry);
      }
      return found;
    },
    write(jobs) {
      try {
        writeFileAtomically(path, JSON.stringify(jobs));
      } catch {
        // A read-only project or a full disk only slows the next reader down.
      }
    },
  };
}

function readEntries(path: string): IndexedJob[] {
  const content = readJson(path, MOST_BYTES);
  return Array.isArray(content) ? content.filter(isIndexedJob) : [];
}

function isIndexedJob(value: unknown): value is IndexedJob {
  const { id, name, status, createdAt, log, lease } = (value ?? {}) as Partial<IndexedJob>;
  return (
    typeof id === "string" &&
    typeof name === "string" &&
    typeof createdAt === "string" &&
    isTime(createdAt) &&
    typeof log === "string" &&
    (lease === undefined || typeof lease === "string") &&
    isJobStatus(status) &&
    isFinal(status)
  );
}
