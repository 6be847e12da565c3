import { expect, test } from "vitest";
import { watchJob } from "../../jobs/jobWatch.ts";
import type { LeaseState } from "../../jobs/ownerWatch.ts";
import type { JobEvent } from "../../protocol/event.ts";
import { COMPLETED, STARTED, createJob } from "../jobs.ts";
import { createProject } from "../project.ts";

const FAILED: JobEvent = { event: "training.failed", data: { error: "No rows." } };

test.each<[LeaseState, JobEvent, string]>([
  ["gone", COMPLETED, "completed"],
  ["gone", FAILED, "failed"],
  ["silent", COMPLETED, "completed"],
])(
  "an owner that is %s has its last word, though it said it after the log was read: %j",
  (lease, event, status) => {
    const { directory, append } = createJob(createProject(), "job", [STARTED]);
    const read = watchJob(directory, () => {
      // Between the readings of the log and the lease.
      append(event);
      return { lease, hasTurn: true };
    });
    const state = read();
    expect(state?.job.status).toBe(status);
    expect(state?.error).toBe(event === FAILED ? "No rows." : undefined);
  },
);
