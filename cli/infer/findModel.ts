import { join, resolve } from "node:path";
import { isKept } from "../../jobs/artifactFiles.ts";
import { checkpointSteps } from "../../jobs/artifactFiles.ts";
import { jobsPath } from "../../jobs/paths.ts";
import { createJobStore } from "../../jobs/store.ts";
import { ARTIFACTS } from "../../protocol/artifactPath.ts";
import { type Job, isFinal } from "../../protocol/job.ts";
import { printable } from "../../protocol/printable.ts";
import { LATEST, findJob, noJob } from "../findJob.ts";

/**
 * Finds the folder of a job by its id, the beginning of its id or `latest`, the newest that has saved
 * something; or a model's folder.
 * @param onNote takes a line on which job is taken instead of the newest
 * @returns an absolute path
 * @throws KitError `JOB_NOT_FOUND`
 */
export function findModel(project: string, named: string, onNote: (text: string) => void): string {
  const job = /[\\/]|^\.*$/.test(named) ? undefined : findJob(project, named);
  if (job) return folderOf(project, named === LATEST ? newestSaved(project, job, onNote) : job);
  const directory = resolve(project, named);
  if (isKept(directory)) return directory;
  throw noJob(project, named, "job or folder");
}

function folderOf(project: string, { id }: Job): string {
  return join(jobsPath(project), id);
}

/** The newest job itself if none has saved anything. */
function newestSaved(project: string, newest: Job, onNote: (text: string) => void): Job {
  const saved = createJobStore(project)
    .list()
    .find((job) => checkpointSteps(join(folderOf(project, job), ARTIFACTS)).length > 0);
  if (!saved || saved.id === newest.id) return newest;
  const yet = isFinal(newest.status) ? "" : " yet";
  onNote(
    `job ${newest.id} has saved nothing${yet}; taking job ${saved.id} ${printable(saved.name)}`,
  );
  return saved;
}
