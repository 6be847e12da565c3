import type { Artifact } from "../../protocol/event.ts";
import { STARTED, createJob, logged } from "../jobs.ts";

const LONG_NAME = `${"a-very-long-name-".repeat(7)}x`;
export const LONG_ERROR = `Cannot read the dataset ${"/a/very/long/folder".repeat(20)}.\n${"more ".repeat(200)}`;

/** Jobs of all five statuses, with names short and long, and with and without events. */
export function createJobs(project: string) {
  const curve = [8, 6, 5, 4.5, 4.2, 4.1].map((loss, n) => logged(n + 1, loss));
  const artifacts = [3, 6].map((step): Artifact => ({
    step,
    kind: "model",
    path: `artifacts/step-${step}`,
  }));
  return {
    completed: createJob(project, "date-normalizer", [
      STARTED,
      ...curve.slice(0, 3),
      { event: "checkpoint.saved", data: artifacts[0]! },
      ...curve.slice(3),
      { event: "checkpoint.saved", data: artifacts[1]! },
      { event: "training.completed", data: { artifacts } },
    ]),
    failed: createJob(project, LONG_NAME, [
      STARTED,
      logged(1, 2),
      { event: "training.failed", data: { error: LONG_ERROR } },
    ]),
    cancelled: createJob(project, "stopped", [
      STARTED,
      { event: "training.cancelled", data: { step: 3 } },
    ]),
    running: createJob(project, "at-work", [STARTED, ...curve]),
    queued: createJob(project, "waits"),
  };
}
