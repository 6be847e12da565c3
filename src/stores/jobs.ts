import { defineStore } from "pinia";
import { computed } from "vue";
import type { Job } from "../../protocol/job.ts";
import { fetchJobs } from "../api/jobs.ts";
import { usePolled } from "./polled.ts";

/** The project's jobs, in the backend's order. */
export const useJobs = defineStore("jobs", () => {
  const { value, ...reading } = usePolled(fetchJobs);
  const jobs = computed(() => value.value?.jobs);
  /** Changes with the project's last run and its status. */
  const run = computed(() => value.value?.run);

  function find(id: string): Job | undefined {
    return jobs.value?.find((job) => job.id === id);
  }

  return { jobs, run, find, ...reading };
});
