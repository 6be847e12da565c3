import type { Job } from "../../protocol/job.ts";

/** Jobs, newest first. */
export interface JobList {
  /** The same array for as long as nothing has changed. What was handed out stays as it is. */
  jobs: () => readonly Job[];
  /** Puts a job in its place, or in place of what was known of it. */
  put: (job: Job) => void;
  remove: (id: string) => void;
}

export function createJobList(): JobList {
  let jobs: Job[] = [];
  let isHandedOut = false;

  /** Where a job is, or would be. */
  function placeOf(id: string): number {
    const isBehind = (place: number) => id < (jobs[place]?.id ?? "");
    let [from, to] = [0, jobs.length];
    // As when all come at once, newest first.
    if (isBehind(to - 1)) return to;
    while (from < to) {
      const middle = (from + to) >> 1;
      if (isBehind(middle)) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  function change(place: number, removed: number, ...added: Job[]): void {
    if (isHandedOut) jobs = jobs.slice();
    isHandedOut = false;
    jobs.splice(place, removed, ...added);
  }

  return {
    jobs() {
      isHandedOut = true;
      return jobs;
    },
    put(job) {
      const place = placeOf(job.id);
      const known = jobs[place];
      if (known !== job) change(place, known?.id === job.id ? 1 : 0, job);
    },
    remove(id) {
      const place = placeOf(id);
      if (jobs[place]?.id === id) change(place, 1);
    },
  };
}
