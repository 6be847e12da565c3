import { statSync } from "node:fs";
import { resolve } from "node:path";
import { KitError } from "../../protocol/error.ts";

/**
 * Where the user is: package managers set it, because they run a script in the folder of its package.
 * Subprocesses inherit it.
 */
const USER_FOLDER = "INIT_CWD";

/** What paths on the command line are relative to, whatever folder the process is in by now. */
export const COMMAND_FOLDER = process.cwd();

/**
 * Changes to the project's folder, because a trainer's paths are relative to it.
 * @returns its absolute path
 * @throws KitError `PROJECT_NOT_FOUND`
 */
export function enterProject(directory: string): string {
  const project = resolve(directory);
  if (!statSync(project, { throwIfNoEntry: false })?.isDirectory()) {
    throw new KitError("PROJECT_NOT_FOUND", `There is no folder ${project}. Check --project.`);
  }
  process.env[USER_FOLDER] = userFolder();
  process.chdir(project);
  return project;
}

/** Where the user typed the command, also of one that `kit ui` runs. */
export function userFolder(): string {
  return process.env[USER_FOLDER] ?? process.cwd();
}
