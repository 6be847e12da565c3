import type { Job } from "../protocol/job.ts";
import { readJobIds } from "./id.ts";
import { type JobReader, type ReadJob, holds } from "./jobReader.ts";
import { jobsPath } from "./paths.ts";

/**
 * Returns all jobs, newest first. What an ended job was is remembered, and the others are read again.
 * The array stays the same as long as nothing changes, and a job the same object as long as it
 * doesn't.
 * @param project the project's folder
 */
export function createJobList(project: string, reader: JobReader): () => readonly Job[] {
  const root = jobsPath(project);
  /** Undefined for a folder that has no `job.json` yet. */
  const known = new Map<string, ReadJob | undefined>();
  let jobs: readonly Job[] = [];

  function read(id: string): Job | undefined {
    const state = known.get(id);
    if (state?.proof && holds(state.proof, `${root}/${id}`)) return state.job;
    const now = reader.read(id, state?.job);
    known.set(id, now);
    return now?.job;
  }

  function forgetAllBut(ids: readonly string[]): void {
    const there = new Set(ids);
    for (const id of known.keys()) {
      if (there.has(id)) continue;
      known.delete(id);
      reader.forget(id);
    }
  }

  return () => {
    const ids = readJobIds(root);
    if (known.size > 0) forgetAllBut(ids);
    const now = ids.flatMap((id) => read(id) ?? []);
    const isSame = now.length === jobs.length && now.every((job, n) => job === jobs[n]);
    if (!isSame) jobs = now;
    return jobs;
  };
}
