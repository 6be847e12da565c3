import { defineStore } from "pinia";
import { ref, shallowRef } from "vue";
import type { Job } from "../../protocol/job.ts";
import { fetchJobs } from "../api/jobs.ts";
import { sentence } from "../api/request.ts";

export const POLL_INTERVAL_MS = 5_000;

/** The project's jobs, in the backend's order. */
export const useJobs = defineStore("jobs", () => {
  /** Undefined until the first answer; the last good answer ever after. */
  const jobs = shallowRef<readonly Job[]>();
  /** Why the latest read failed; empty when it did not. */
  const error = ref("");
  let reading: Promise<void> | undefined;

  async function read(): Promise<void> {
    try {
      jobs.value = await fetchJobs();
      error.value = "";
    } catch (cause) {
      error.value = sentence(cause);
    }
  }

  /** Reads the list with a request sent from now on, after the one in flight if there is one. */
  function refresh(): Promise<void> {
    const mine: Promise<void> = (reading ? reading.then(read) : read()).finally(() => {
      if (reading === mine) reading = undefined;
    });
    reading = mine;
    return mine;
  }

  /** Reads now and then every 5 seconds, one request at a time, until the returned stop. */
  function poll(): () => void {
    if (!reading) void refresh();
    const timer = setInterval(() => {
      if (!reading) void refresh();
    }, POLL_INTERVAL_MS);
    return () => clearInterval(timer);
  }

  function find(id: string): Job | undefined {
    return jobs.value?.find((job) => job.id === id);
  }

  return { jobs, error, refresh, poll, find };
});
