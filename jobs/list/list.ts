import type { Job } from "../../protocol/job.ts";
import { type JobReader, type ReadJob, holds } from "../jobReader.ts";
import { jobsPath } from "../paths.ts";
import { createJobFolders } from "./folders.ts";
import { type IndexedJob, INDEX_LEAST, createListIndex } from "./listIndex.ts";

/**
 * Returns the list that `readJobList` reads, without reading again what can't have changed. The
 * array stays the same as long as nothing changes, and a job the same object as long as it doesn't.
 * @param project the project's folder
 */
export function createJobList(project: string, reader: JobReader): () => readonly Job[] {
  const root = jobsPath(project);
  const readIds = createJobFolders(root);
  const index = createListIndex(project);
  /** Every folder's job as it was last read; undefined as long as it has no `job.json`. */
  const known = new Map<string, ReadJob | undefined>();
  /** All jobs but those that ended with an event in their log, which stay as they are. */
  const open = new Set<string>();
  let ids: readonly string[] = [];
  let jobs: Job[] = [];
  /** How many ended jobs the index may lack. */
  let unsaved = 0;

  function updateFolders(now: readonly string[]): void {
    ids = now;
    const there = new Set(ids);
    for (const id of known.keys()) {
      if (there.has(id)) continue;
      known.delete(id);
      open.delete(id);
      reader.forget(id);
    }
    const came = ids.filter((id) => !known.has(id));
    for (const id of came) {
      known.set(id, undefined);
      open.add(id);
    }
    if (came.length < INDEX_LEAST) return;
    for (const { id, name, status, createdAt, log, lease } of index.find(came)) {
      keep(id, { job: { id, name, status, createdAt }, proof: { log, lease } });
    }
  }

  function keep(id: string, state: ReadJob | undefined): void {
    known.set(id, state);
    if (state?.proof && state.proof.lease === undefined) open.delete(id);
  }

  /** Rereads a job if it may have changed. */
  function update(id: string): { before?: Job; after?: Job } {
    const state = known.get(id);
    const before = state?.job;
    if (state?.proof && holds(state.proof, `${root}/${id}`)) return { before, after: before };
    const read = reader.read(id, before);
    if (read?.proof && !state?.proof) unsaved++;
    keep(id, read);
    return { before, after: read?.job };
  }

  function saveIndex(): void {
    const ended = [...known.values()].flatMap((state): IndexedJob[] =>
      state?.proof ? [{ ...state.job, ...state.proof }] : [],
    );
    index.write(ended);
    unsaved = 0;
  }

  return () => {
    const now = readIds();
    let isNew = now !== ids;
    if (isNew) updateFolders(now);
    const changed: [before: Job, after: Job][] = [];
    for (const id of open) {
      const { before, after } = update(id);
      if (before === after) continue;
      if (before && after) changed.push([before, after]);
      else isNew = true;
    }
    if (isNew) jobs = ids.flatMap((id) => known.get(id)?.job ?? []);
    else if (changed.length > 0) jobs = replace(jobs, changed);
    if (unsaved >= INDEX_LEAST) saveIndex();
    return jobs;
  };
}

function replace(jobs: readonly Job[], changed: [before: Job, after: Job][]): Job[] {
  const next = jobs.slice();
  for (const [before, after] of changed) next[next.indexOf(before)] = after;
  return next;
}
