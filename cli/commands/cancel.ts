import { setTimeout as delay } from "node:timers/promises";
import { leaseOwner } from "../../disk/lease.ts";
import { killCommand } from "../../disk/processTree.ts";
import { leasePath } from "../../jobs/paths.ts";
import { cancelJob } from "../../jobs/plannedJob.ts";
import { type JobStore, createJobStore } from "../../jobs/store.ts";
import { KitError, isKitError } from "../../protocol/error.ts";
import { type Job, isFinal } from "../../protocol/job.ts";
import { printable } from "../../protocol/printable.ts";
import { LATEST, findJob, noJob } from "../../sdk/models/reference.ts";
import { createCommand, projectOption } from "../command.ts";
import { followJob } from "../jobs/followJob.ts";
import { EXIT_CODE } from "../process/exitCode.ts";
import { enterProject } from "../project/folder.ts";
import { modelProject } from "../project/modelProject.ts";
import { print, printError } from "../terminal/print.ts";

const POLL_MS = 200;
/** Time until a note that the job's process is busy; enough for a step or a callback. */
const PATIENCE_MS = 15_000;

/**
 * Cancels a queued or running job of any process, and waits for its end.
 * @throws KitError `JOB_NOT_FOUND`; `JOB_ENDED`, also if the job completes or fails meanwhile; `CANNOT_WRITE`;
 * and those of `kit attach` for a remote job that no process follows
 */
export const command = createCommand("cancel", {
  "kit cancel latest": "cancel the newest unfinished job; its checkpoints stay",
  "kit jobs | grep ^running": "the running job",
})
  .argument("<job>", 'a job id or its prefix, or "latest"')
  .addOption(projectOption())
  .action(async (jobName, options) => {
    const project = enterProject(options.project);
    const job = newestUnfinished(project, jobName) ?? findJob(project, jobName);
    if (!job) throw noJob(modelProject(project), jobName, "job");
    const { id, name, status } = job;
    if (isFinal(status)) throw jobEnded(`Job ${id} has already ended`, status);
    print(`cancelling job ${id} ${printable(name)}`);
    const end = await cancel(project, job);
    if (end !== "cancelled") throw jobEnded(`Job ${id} ended before it could be cancelled`, end);
    print(`cancelled job ${id}; its checkpoints stay`);
    // The project's code, if it ran, may have left something open.
    process.exit(EXIT_CODE.completed);
  });

/** The job that `latest` means here: the newest job may have ended while an older one trains. */
function newestUnfinished(project: string, jobName: string): Job | undefined {
  if (jobName !== LATEST) return undefined;
  return createJobStore(project)
    .list()
    .find(({ status }) => !isFinal(status));
}

/** @returns the job's final status; undefined if it was deleted meanwhile */
async function cancel(project: string, { id }: Job): Promise<Job["status"] | undefined> {
  const jobs = createJobStore(project);
  let patienceEnds = performance.now() + PATIENCE_MS;
  for (;;) {
    const status = jobs.get(id)?.job.status;
    if (!status || isFinal(status)) return status;
    if (jobs.leaseOf(id) === "unfollowed") await cancelRemote(project, id);
    else await cancelJob(jobs.directoryOf(id));
    if (performance.now() > patienceEnds) {
      patienceEnds = Infinity;
      printError(stillWaiting(jobs, id));
    }
    await delay(POLL_MS);
  }
}

/** Follows the job from this process, because no other does. */
async function cancelRemote(project: string, id: string): Promise<void> {
  try {
    const code = await followJob(project, id, (trainer) => void trainer.cancel());
    if (code === EXIT_CODE.failed) process.exit(code);
  } catch (error) {
    // Another process follows it now, or it has ended.
    if (!isKitError(error) || !["JOB_TAKEN", "JOB_ENDED"].includes(error.code)) throw error;
  }
}

function stillWaiting(jobs: JobStore, id: string): string {
  const { pid = "?", host = "another machine" } = leaseOwner(leasePath(jobs.directoryOf(id))) ?? {};
  return `still waiting: process ${pid} on ${host} is busy. To kill it, run on that machine: ${killCommand(pid)}`;
}

function jobEnded(sentence: string, status: string | undefined): KitError {
  return new KitError("JOB_ENDED", `${sentence}: ${status ?? "it was deleted"}.`);
}
