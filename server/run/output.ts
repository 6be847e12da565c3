import { join } from "node:path";
import { type FollowOptions, tailFile } from "../../disk/follow.ts";
import { openSharedTail } from "../../disk/sharedTail.ts";
import { readRun, runDirectory } from "../../jobs/runLease.ts";
import { RUN_OUTPUT } from "../../protocol/http.ts";

export function outputPath(project: string): string {
  return join(project, RUN_OUTPUT);
}

/** A run's output until the run is recorded. */
export function newOutputPath(project: string, id: string): string {
  return join(runDirectory(project), `output.${id}.log`);
}

/**
 * Follows a run's output.
 * @returns undefined when a later run has replaced it
 */
export async function openOutput(
  project: string,
  id: string,
  options: FollowOptions,
): Promise<AsyncGenerator<Buffer> | undefined> {
  const path = outputPath(project);
  const file = (await openSharedTail(newOutputPath(project, id))) ?? (await openSharedTail(path));
  // Checked after opening: the next run is recorded before its output takes this path.
  if ((readRun(project)?.id ?? id) === id) return tailFile(path, options, file);
  await file?.release();
  return undefined;
}
