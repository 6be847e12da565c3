import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { jobsPath } from "../../jobs/paths.ts";
import { createJobStore } from "../../jobs/store.ts";
import { KitError } from "../../protocol/error.ts";
import type { Job } from "../../protocol/job.ts";

/** The word for the newest job. */
const LATEST = "latest";

/**
 * Finds the folder of a job by its id, the beginning of its id or `latest`; or a model's folder.
 * @returns an absolute path
 * @throws KitError `JOB_NOT_FOUND`
 */
export function findModel(project: string, named: string): string {
  const job = /[\\/]|^\.*$/.test(named) ? undefined : findJob(project, named);
  if (job) return join(jobsPath(project), job.id);
  const directory = resolve(project, named);
  if (existsSync(directory)) return directory;
  if (named === LATEST) {
    throw new KitError("JOB_NOT_FOUND", `There is no job in ${project} yet. Run kit start first.`);
  }
  throw new KitError(
    "JOB_NOT_FOUND",
    `No job or folder named ${named} in ${project}. Run kit jobs to see the ids.`,
  );
}

function findJob(project: string, named: string): Job | undefined {
  const jobs = createJobStore(project).list();
  if (named === LATEST && jobs.length > 0) return jobs[0];
  const found = jobs.filter(({ id }) => id.startsWith(named));
  if (found.length < 2) return found[0];
  throw new KitError(
    "JOB_NOT_FOUND",
    `${named} matches ${found.length} jobs. Use a longer prefix, or "${LATEST}".`,
  );
}
