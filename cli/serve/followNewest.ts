import { readJobIds } from "../../jobs/id.ts";
import { readPlan } from "../../jobs/jobFile.ts";
import { jobsPath } from "../../jobs/paths.ts";
import { createJobStore } from "../../jobs/store.ts";
import type { Job } from "../../protocol/job.ts";

/** How often to look for completed jobs. Each poll lists a folder. */
const POLL_MS = 2_000;

export interface FollowOptions {
  project: string;
  /** The served job, which is offered too if it completes later. */
  from: Pick<Job, "id" | "status">;
  /** Serves a completed job instead. The next one is offered once this resolves. */
  onNewer: (job: Job) => Promise<void>;
  /** Called with the reason when that fails or the jobs cannot be read. */
  onError: (error: unknown) => void;
}

/** Offers the served job and each newer one once it completes, but no job that an API caller created. */
export function followNewest({ project, from, onNewer, onError }: FollowOptions) {
  const root = jobsPath(project);
  const jobs = createJobStore(project);
  /** The newest job offered so far. One that cannot be served is not offered again. */
  let last = from.id;
  let isCompleted = from.status === "completed";
  let isBusy = false;
  let isStopped = false;

  function findNewer(): Job | undefined {
    for (const id of readJobIds(root)) {
      if (id < last || (id === last && isCompleted)) return undefined;
      const job = jobs.get(id)?.job;
      if (job?.status === "completed" && (id === from.id || !readPlan(jobs.directoryOf(id))))
        return job;
    }
    return undefined;
  }

  async function poll(): Promise<void> {
    if (isBusy || isStopped) return;
    isBusy = true;
    try {
      const job = findNewer();
      if (job) {
        last = job.id;
        isCompleted = true;
        await onNewer(job);
      }
    } catch (error) {
      if (!isStopped) onError(error);
    } finally {
      isBusy = false;
    }
  }

  const timer = setInterval(() => void poll(), POLL_MS);
  return {
    stop() {
      isStopped = true;
      clearInterval(timer);
    },
  };
}
