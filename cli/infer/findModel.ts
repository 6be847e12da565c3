import { join, resolve } from "node:path";
import { isKept } from "../../jobs/artifactFiles.ts";
import { jobsPath } from "../../jobs/paths.ts";
import { findJob, noJob } from "../findJob.ts";

/**
 * Finds the folder of a job by its id, the beginning of its id or `latest`; or a model's folder.
 * @returns an absolute path
 * @throws KitError `JOB_NOT_FOUND`
 */
export function findModel(project: string, named: string): string {
  const job = /[\\/]|^\.*$/.test(named) ? undefined : findJob(project, named);
  if (job) return join(jobsPath(project), job.id);
  const directory = resolve(project, named);
  if (isKept(directory)) return directory;
  throw noJob(project, named, "job or folder");
}
