import { type FollowOptions, tailFile } from "../../disk/follow.ts";
import { openSharedTail } from "../../disk/sharedTail.ts";
import { newOutputPath, outputPath, readRunRecord } from "./record.ts";

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
  if (isLast(project, id)) return tailFile(path, options, file);
  await file?.leave();
  return undefined;
}

function isLast(project: string, id: string): boolean {
  const record = readRunRecord(project);
  return record === undefined || record.id === id;
}
