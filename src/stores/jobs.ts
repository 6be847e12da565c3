import { defineStore } from "pinia";
import { ref, shallowRef } from "vue";
import type { Job } from "../../protocol/job.ts";
import { fetchJobs } from "../api/jobs.ts";
import { sentence } from "../api/request.ts";

export const POLL_INTERVAL_MS = 5_000;

/** The project's jobs, in the backend's order. */
export const useJobs = defineStore("jobs", () => {
  /** The last good response; undefined before the first. */
  const jobs = shallowRef<readonly Job[]>();
  /** Why the latest read failed; empty if it succeeded. */
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

  /** Reads the list with a new request, after the one in flight if there is one. */
  function refresh(): Promise<void> {
    const mine: Promise<void> = (reading ? reading.then(read) : read()).finally(() => {
      if (reading === mine) reading = undefined;
    });
    reading = mine;
    return mine;
  }

  /** Reads the list now and every 5 seconds, one request at a time, until the returned stop. */
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
