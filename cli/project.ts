import { statSync } from "node:fs";
import { resolve } from "node:path";
import { KitError } from "../protocol/error.ts";

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
  process.chdir(project);
  return project;
}
