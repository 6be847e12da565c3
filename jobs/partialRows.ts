import { readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { JobStore } from "./store.ts";

/** Removes what killed trainings had written of their rows, which may be gigabytes. */
export function removePartialRows(jobs: JobStore): void {
  for (const { id, status } of jobs.list()) {
    if (status !== "failed" || jobs.leaseOf(id) !== "gone") continue;
    const directory = dirname(jobs.logPath(id));
    try {
      for (const name of readdirSync(directory)) {
        if (name.endsWith(".jsonl.partial")) rmSync(join(directory, name), { force: true });
      }
    } catch {
      // Another user's, or deleted.
    }
  }
}
