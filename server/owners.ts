import type { JobStore } from "../jobs/store.ts";

/** What was seen of an owner holds this long, for all who watch its job. */
const HOLDS_MS = 100;

export interface OwnerLook {
  isAbandoned: boolean;
  isSilent: boolean;
}

/** Looks at the owners of unfinished jobs, at each no more often than that. */
export function createOwnerWatch(
  jobs: Pick<JobStore, "isAbandoned" | "isSilent">,
  now: () => number = () => performance.now(),
): (id: string) => OwnerLook {
  const seen = new Map<string, OwnerLook & { at: number }>();
  return (id) => {
    const known = seen.get(id);
    if (known && now() - known.at < HOLDS_MS) return known;
    const look = { isAbandoned: jobs.isAbandoned(id), isSilent: jobs.isSilent(id), at: now() };
    seen.set(id, look);
    return look;
  };
}
