import { existsSync } from "node:fs";
import type { RemoteLocation } from "../../protocol/engine.ts";
import { KitError, cannotFollow, isKitError } from "../../protocol/error.ts";
import type { Job } from "../../protocol/job.ts";
import { logPath } from "../paths.ts";

/** The error for a remote job that this machine can't reach or follow. */
export function lostContact(
  { id }: Job,
  { where, checkpoints }: RemoteLocation,
  cause: unknown,
): KitError {
  if (isKitError(cause) && cause.code === "CANNOT_FOLLOW") {
    const why = cause.message.replace(/\.?$/, ".");
    return new KitError(
      "CANNOT_FOLLOW",
      `${why} Then run npx kit attach ${id} to follow the job again; it is still running on ${where}.`,
      { cause },
    );
  }
  if (isKitError(cause) && cause.code === "CLUSTER_REFUSED") {
    return new KitError(
      "CLUSTER_REFUSED",
      `Lost contact with ${where}, which refuses the token. Job ${id} may still be running there, with its checkpoints in ${checkpoints}. Set the right token, then run npx kit attach ${id} to follow it again.`,
      { cause },
    );
  }
  return new KitError(
    "CLUSTER_UNREACHABLE",
    `Lost contact with ${where}. Job ${id} may still be running there, with its checkpoints in ${checkpoints}. Run npx kit attach ${id} to follow it again.`,
    { cause },
  );
}

/**
 * Turns a local write error into `CANNOT_FOLLOW`, because the remote run continues; a deleted log ends it.
 * @param directory the job's
 */
export function orCannotFollow(error: unknown, directory: string): unknown {
  const isWrite = isKitError(error) && error.code === "CANNOT_WRITE";
  return isWrite && existsSync(logPath(directory)) ? cannotFollow(error) : error;
}
