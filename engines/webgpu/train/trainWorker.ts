import { openDevice } from "../device/dawn.ts";
import type { GpuJob } from "./messages.ts";
import { runJob } from "./runJob.ts";

/** Runs the job that its parent sends. */
process.once("message", (job: GpuJob) => {
  void runJob(job, () => openDevice(job.options, job.project));
});
process.once("disconnect", () => process.exit());
// The terminal's signals reach the whole process group; the parent decides.
for (const signal of ["SIGINT", "SIGHUP", "SIGBREAK"]) process.on(signal, () => {});
