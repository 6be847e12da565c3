import type { LeaseState } from "../../jobs/leaseWatch.ts";

/** Reports to a job's stream when the job's owner falls silent, and when it is back. */
export interface OwnerWatch {
  /** Reads the owner's lease, and reports a change since the last check. */
  check: () => void;
  /** As last reported. */
  isSilent: () => boolean;
  /** As last checked. */
  isGone: () => boolean;
}

export function createOwnerWatch(
  leaseOf: () => LeaseState,
  report: (isSilent: boolean) => void,
): OwnerWatch {
  // The stream reads the log between two checks, so no earlier event follows the report.
  let isLogRead = false;
  let isSilent = false;
  let isGone = false;
  return {
    check() {
      const lease = leaseOf();
      const isSilentNow = isLogRead && lease === "silent";
      isLogRead = true;
      if (isSilentNow !== isSilent) report(isSilentNow);
      isSilent = isSilentNow;
      isGone = lease === "gone";
    },
    isSilent: () => isSilent,
    isGone: () => isGone,
  };
}
