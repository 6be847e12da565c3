import { assertReadableJobs } from "../jobs/jobFile.ts";
import { createJobStore } from "../jobs/store.ts";
import { KitError } from "../protocol/error.ts";
import type { Job } from "../protocol/job.ts";
import { kitCommand } from "./kitCommand.ts";

/** The word for the newest job. */
export const LATEST = "latest";

/**
 * Finds a job by its id, the beginning of its id or `latest`.
 * @throws KitError `JOB_NOT_FOUND` for more than one
 */
export function findJob(project: string, named: string): Job | undefined {
  const jobs = createJobStore(project).list();
  if (named === LATEST && jobs.length > 0) return jobs[0];
  // Every id begins with an empty one.
  const found = jobs.filter(({ id }) => named !== "" && id.startsWith(named));
  if (found.length < 2) return found[0];
  throw new KitError(
    "JOB_NOT_FOUND",
    `${named} matches ${found.length} jobs. Use a longer prefix, or "${LATEST}".`,
  );
}

/**
 * For a name that no job has.
 * @throws KitError `CANNOT_READ` when there are only another user's
 */
export function noJob(project: string, named: string, what: string): KitError {
  assertReadableJobs(project);
  if (named === LATEST) {
    return new KitError(
      "JOB_NOT_FOUND",
      `There is no job in ${project} yet. Run ${kitCommand(project, "start")} first.`,
    );
  }
  return new KitError(
    "JOB_NOT_FOUND",
    `No ${what} named ${named || '""'} in ${project}. Run ${kitCommand(project, "jobs")} to see the ids.`,
  );
}
