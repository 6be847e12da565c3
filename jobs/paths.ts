import { join } from "node:path";

/** The folder of a project's jobs, in which each has a folder named by its id. */
export function jobsPath(project: string): string {
  return join(project, ".kit", "jobs");
}

/** Where a job's events are, whether or not there are any. */
export function logPath(directory: string): string {
  return `${directory}/events.ndjson`;
}
