import { defineStore } from "pinia";
import type { Job } from "../../protocol/job.ts";
import { fetchJobs } from "../api/jobs.ts";
import { usePolled } from "./polled.ts";

/** The project's jobs, in the backend's order. */
export const useJobs = defineStore("jobs", () => {
  const { value: jobs, error, refresh, poll } = usePolled(fetchJobs);

  function find(id: string): Job | undefined {
    return jobs.value?.find((job) => job.id === id);
  }

  return { jobs, error, refresh, poll, find };
});
