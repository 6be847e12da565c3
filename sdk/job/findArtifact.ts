import { basename, dirname, join } from "node:path";
import {
  checkpointSteps,
  isKept,
  readResult,
  refuseLinkedArtifacts,
} from "../../jobs/artifactFiles.ts";
import { isJobDirectory } from "../../jobs/jobFile.ts";
import { createJobReader } from "../../jobs/jobReader.ts";
import { createLeaseWatch } from "../../jobs/leaseWatch.ts";
import { ARTIFACTS, checkpointFolder } from "../../protocol/artifactPath.ts";
import { KitError } from "../../protocol/error.ts";
import { isFinal } from "../../protocol/job.ts";

/**
 * Resolves a job's directory to its result or, until it is completed, to its last checkpoint; a
 * folder `artifacts` to the last in it. Any other directory stays as it is.
 * @throws KitError `CHECKPOINT_INVALID` for a job that has saved none, or whose result was deleted; `LINK_IN_KIT`
 */
export function findArtifact(directory: string): string {
  const isJob = isJobDirectory(directory);
  if (!isJob && basename(directory) !== ARTIFACTS) return directory;
  if (isJob) refuseLinkedArtifacts(directory);
  const result = isJob ? readResult(directory) : undefined;
  if (result) return existing(join(directory, result.path));
  const parent = isJob ? join(directory, ARTIFACTS) : directory;
  const last = checkpointSteps(parent).at(-1);
  if (last !== undefined) return join(parent, checkpointFolder(last));
  if (!isJob) return directory;
  if (hasEnded(directory)) {
    throw new KitError(
      "CHECKPOINT_INVALID",
      `The job in ${directory} ended before it saved a checkpoint. Train again, or load another job's.`,
    );
  }
  throw new KitError(
    "CHECKPOINT_INVALID",
    `The job in ${directory} has saved no checkpoint. Wait for its first, or load another job's.`,
  );
}

function hasEnded(directory: string): boolean {
  const reader = createJobReader(dirname(directory), createLeaseWatch());
  const status = reader.read(basename(directory))?.job.status;
  return status !== undefined && isFinal(status);
}

function existing(path: string): string {
  if (isKept(path)) return path;
  throw new KitError(
    "CHECKPOINT_INVALID",
    `The job's result ${path} was deleted. Load another checkpoint.`,
  );
}
