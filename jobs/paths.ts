import { join } from "node:path";

export { pathInside } from "../disk/pathInside.ts";

/** The folder of a project's jobs, each in a folder named by its id. */
export function jobsPath(project: string): string {
  return join(project, ".kit", "jobs");
}

/** The path of a job's log, whether or not it exists. */
export function logPath(directory: string): string {
  return join(directory, "events.ndjson");
}

/** The path of a job's or a run's lease, whether or not it exists. */
export function leasePath(directory: string): string {
  return join(directory, "lease.json");
}
