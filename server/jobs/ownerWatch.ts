import type { JobStore } from "../../jobs/store.ts";

type Owner = ReturnType<JobStore["leaseOf"]>;
type Reported = Exclude<Owner, "gone">;

/** Reports on a job's stream when its owner falls silent, detaches, or is back. */
export interface OwnerWatch {
  /** Reads the owner's lease, and reports a change since the last check. */
  check: () => void;
  /** The state as last reported. */
  isSilent: () => boolean;
  /** The state as last checked. */
  isGone: () => boolean;
}

/** @param report called with `held` when a silent or detached owner is back */
export function createOwnerWatch(
  leaseOf: () => Owner,
  report: (owner: Reported) => void,
): OwnerWatch {
  // The stream reads the log between two checks, so that no older event follows the report.
  let isLogRead = false;
  let reported: Reported = "held";
  let isGone = false;
  return {
    check() {
      const owner = leaseOf();
      isGone = owner === "gone";
      const current = isLogRead && owner !== "gone" ? owner : "held";
      isLogRead = true;
      if (current !== reported) report(current);
      reported = current;
    },
    isSilent: () => reported === "silent",
    isGone: () => isGone,
  };
}
