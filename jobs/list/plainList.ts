import { readdirSync } from "node:fs";
import { cannotRead, refuseLink } from "../../disk/file.ts";
import { isKitError } from "../../protocol/error.ts";
import type { Job } from "../../protocol/job.ts";
import { isJobId } from "../id.ts";
import type { JobReader } from "../jobReader.ts";

/**
 * All jobs, newest first, each read from its own folder. `createJobList` gives the same list sooner.
 * @throws KitError `CANNOT_READ`, `LINK_IN_KIT`
 */
export function readJobList(root: string, reader: JobReader): Job[] {
  return readJobIds(root).flatMap((id) => reader.read(id)?.job ?? []);
}

/**
 * The ids of the folders in the folder of all jobs, newest first.
 * @throws KitError `CANNOT_READ`, `LINK_IN_KIT`
 */
export function readJobIds(root: string): string[] {
  try {
    refuseLink(root);
    const entries = readdirSync(root, { withFileTypes: true });
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    return folders.filter(isJobId).sort().reverse();
  } catch (error) {
    if (isKitError(error)) throw error;
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw cannotRead(root, error);
  }
}
