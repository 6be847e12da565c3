import nodePath, { join } from "node:path";

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

/** A path relative to a folder that contains it; undefined elsewhere, such as on another drive of Windows. */
export function pathInside(folder: string, path: string, system = nodePath): string | undefined {
  const inside = system.relative(folder, path);
  const leadsOut = /^\.\.(?:[\\/]|$)/.test(inside) || system.isAbsolute(inside);
  return leadsOut ? undefined : inside;
}
