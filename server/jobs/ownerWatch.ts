import type { JobStore } from "../../jobs/store.ts";

type Owner = ReturnType<JobStore["leaseOf"]>;
type Reported = Exclude<Owner, "gone">;

/** Reports on a job's stream when its owner falls silent, detaches, or is back. */
export interface OwnerWatch {
  /** Reads the owner's lease, and reports a change since the last check. */
  check: () => void;
  /** As last reported. */
  isSilent: () => boolean;
  /** As last checked. */
  isGone: () => boolean;
}

/** @param report takes `held` as the return of an owner */
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
      const now = isLogRead && owner !== "gone" ? owner : "held";
      isLogRead = true;
      if (now !== reported) report(now);
      reported = now;
    },
    isSilent: () => reported === "silent",
    isGone: () => isGone,
  };
}
