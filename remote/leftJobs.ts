import { listOrNone } from "../jobs/listOrNone.ts";
import { type JobStore, createJobStore } from "../jobs/store.ts";

/**
 * Watches the jobs that run remotely and that a process here follows.
 * @param project the project's folder
 * @returns a function that returns a line for people for each that nobody follows any more
 */
export function watchLeftJobs(project: string, jobs: JobStore): () => string[] {
  const running = listOrNone(jobs).filter(({ status }) => status === "running");
  const followed = running.flatMap(({ id, lastHeardAt }) => {
    const where = lastHeardAt === undefined ? jobs.remoteLocationOf(id)?.where : undefined;
    return where === undefined ? [] : [{ id, where }];
  });
  return () => {
    // Remembers no owner's state.
    const now = createJobStore(project);
    return followed
      .filter(({ id }) => now.get(id)?.job.lastHeardAt !== undefined)
      .map(
        ({ id, where }) => `job ${id} keeps training on ${where}; the next kit ui follows it again`,
      );
  };
}
