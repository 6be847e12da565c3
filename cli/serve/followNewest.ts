import { readJobIds } from "../../jobs/id.ts";
import { jobsPath } from "../../jobs/paths.ts";
import { createJobStore } from "../../jobs/store.ts";
import type { Job } from "../../protocol/job.ts";

/** How often to look for a job that has completed. Costs a listing of a folder. */
const LOOK_MS = 2_000;

export interface FollowOptions {
  project: string;
  /** The id of the job that is served. */
  from: string;
  /** Serves a newer completed job instead. No other one is offered meanwhile. */
  onNewer: (job: Job) => Promise<void>;
  /** Called with the reason when that fails or the jobs cannot be read. */
  onError: (error: unknown) => void;
}

/** Offers each newer job once it completes. */
export function followNewest({ project, from, onNewer, onError }: FollowOptions) {
  const root = jobsPath(project);
  const jobs = createJobStore(project);
  /** A job that cannot be served is offered once. */
  let last = from;
  let isBusy = false;
  let isStopped = false;

  function newer(): Job | undefined {
    for (const id of readJobIds(root)) {
      if (id <= last) return undefined;
      const job = jobs.get(id)?.job;
      if (job?.status === "completed") return job;
    }
    return undefined;
  }

  async function look(): Promise<void> {
    if (isBusy || isStopped) return;
    isBusy = true;
    try {
      const job = newer();
      if (job) {
        last = job.id;
        await onNewer(job);
      }
    } catch (error) {
      if (!isStopped) onError(error);
    } finally {
      isBusy = false;
    }
  }

  const timer = setInterval(() => void look(), LOOK_MS);
  return {
    stop() {
      isStopped = true;
      clearInterval(timer);
    },
  };
}
