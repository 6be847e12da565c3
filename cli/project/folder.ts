import { statSync } from "node:fs";
import { resolve } from "node:path";
import { KitError } from "../../protocol/error.ts";

/**
 * The folder where the user typed the command. Package managers set it, because they run scripts in the
 * package's folder. Subprocesses inherit it.
 */
const USER_FOLDER_VARIABLE = "INIT_CWD";

/** Base of relative paths on the command line; the process changes its folder later. */
export const COMMAND_FOLDER = process.cwd();

/**
 * Changes to the project's folder, because a trainer's paths are relative to it.
 * @returns its real absolute path
 * @throws KitError `PROJECT_NOT_FOUND`
 */
export function enterProject(directory: string): string {
  const project = resolve(directory);
  if (!statSync(project, { throwIfNoEntry: false })?.isDirectory()) {
    throw new KitError("PROJECT_NOT_FOUND", `There is no folder ${project}. Check --project.`);
  }
  process.env[USER_FOLDER_VARIABLE] = userFolder();
  process.chdir(project);
  // Through links, as /tmp is one on macOS.
  return process.cwd();
}

/** Where the user typed the command, also for one that `kit ui` runs. */
export function userFolder(): string {
  return process.env[USER_FOLDER_VARIABLE] ?? process.cwd();
}
