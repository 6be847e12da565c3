import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { ARTIFACTS, checkpointFolder, stepOfFolder } from "../protocol/artifactPath.ts";
import { KitError } from "../protocol/error.ts";

/**
 * Resolves a job's directory, or its `artifacts`, to the last checkpoint in it; any other stays as it is.
 * @throws KitError `CHECKPOINT_INVALID` for a job that has saved none
 */
export function findArtifact(directory: string): string {
  const isJob = existsSync(join(directory, "job.json"));
  if (!isJob && basename(directory) !== ARTIFACTS) return directory;
  const parent = isJob ? join(directory, ARTIFACTS) : directory;
  const last = stepsIn(parent).at(-1);
  if (last !== undefined) return join(parent, checkpointFolder(last));
  if (!isJob) return directory;
  throw new KitError(
    "CHECKPOINT_INVALID",
    `The job in ${directory} has saved no checkpoint. Wait for its first, or load another job's.`,
  );
}

/** In ascending order. */
function stepsIn(directory: string): number[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .flatMap((name) => stepOfFolder(name) ?? [])
    .toSorted((a, b) => a - b);
}
