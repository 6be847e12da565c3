import type { Owner } from "../../disk/owner.ts";
import { readRunEnd } from "./end.ts";
import { recordedRun } from "./process.ts";

/**
 * The job that the project's last run left on other machines. The process that follows it continues the run.
 * @param hasUnfinishedJob whether a process that is invisible from here, as in another container, has a job
 */
export function leftJob(
  project: string,
  hasUnfinishedJob: (owner: Owner) => boolean,
): string | undefined {
  const last = recordedRun(project, hasUnfinishedJob);
  return last?.hasEnded() ? readRunEnd(project, last.id)?.job : undefined;
}
