import { type FollowOptions, followFile } from "../../disk/follow.ts";
import { openGrowing } from "../../disk/growth.ts";
import { newOutputPath, outputPath, readRunRecord } from "./record.ts";

/**
 * What a run has printed and prints.
 * @returns undefined when another run has followed, and its output is gone
 */
export async function openOutput(
  project: string,
  id: string,
  options: FollowOptions,
): Promise<AsyncGenerator<Buffer> | undefined> {
  const path = outputPath(project);
  const file = (await openGrowing(newOutputPath(project, id))) ?? (await openGrowing(path));
  // Asked last: the next run is recorded before its output takes this place.
  if (isLast(project, id)) return followFile(path, options, file);
  await file?.leave();
  return undefined;
}

function isLast(project: string, id: string): boolean {
  const record = readRunRecord(project);
  return record === undefined || record.id === id;
}
