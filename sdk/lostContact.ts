import { KitError, isKitError } from "../protocol/error.ts";
import type { Job } from "../protocol/job.ts";
import type { Placement } from "../protocol/placement.ts";

/** The error of a job that goes on elsewhere, out of reach. */
export function lostContact(
  { id }: Job,
  { where, checkpoints }: Placement,
  cause: unknown,
): KitError {
  if (isKitError(cause) && cause.code === "CLUSTER_REFUSED") {
    return new KitError(
      "CLUSTER_REFUSED",
      `Lost contact with ${where}, which refuses the token. Job ${id} may go on there, with its checkpoints in ${checkpoints}. Set the right token, then run npx kit attach ${id} to follow it again.`,
      { cause },
    );
  }
  return new KitError(
    "CLUSTER_UNREACHABLE",
    `Lost contact with ${where}. Job ${id} may go on there, with its checkpoints in ${checkpoints}. Run npx kit attach ${id} to follow it again.`,
    { cause },
  );
}
