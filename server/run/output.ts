import { type FollowOptions, followFile } from "../../disk/follow.ts";
import { openGrowing } from "../../disk/growth.ts";
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
  const file = (await openGrowing(newOutputPath(project, id))) ?? (await openGrowing(path));
  // Checked after opening: the next run is recorded before its output takes this path.
  if (isLast(project, id)) return followFile(path, options, file);
  await file?.leave();
  return undefined;
}

function isLast(project: string, id: string): boolean {
  const record = readRunRecord(project);
  return record === undefined || record.id === id;
}
