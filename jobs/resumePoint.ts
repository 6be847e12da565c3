import { join } from "node:path";
import { leaseOwner } from "../disk/lease.ts";
import { ownerState } from "../disk/owner.ts";
import { ARTIFACTS, checkpointFolder } from "../protocol/artifactPath.ts";
import { isRecord } from "../protocol/isRecord.ts";
import { type Job, isFinal } from "../protocol/job.ts";
import { checkpointSteps, refuseLinkedArtifacts } from "./artifactFiles.ts";
import { type JobStart, hasStarted, readJobStart, resumedFrom } from "./jobStart.ts";
import { readLog } from "./log/read.ts";
import { jobsPath, leasePath } from "./paths.ts";
import { createJobStore } from "./store.ts";

/** A checkpoint of an unfinished job. */
export interface ResumePoint {
  jobId: string;
  /** Absolute path of the job's directory. */
  directory: string;
  step: number;
  /** Absolute path of the checkpoint. */
  checkpoint: string;
}

/**
 * The checkpoints, newest first, of a trainer's newest failed or cancelled job that has any. Skips jobs that a
 * completed job continued.
 * @throws KitError `LINK_IN_KIT`
 */
export function findResumePoints(project: string, name: string): ResumePoint[] {
  const continued = new Set<string>();
  for (const job of createJobStore(project).list()) {
    if (job.name !== name || !isFinal(job.status)) continue;
    const directory = join(jobsPath(project), job.id);
    const start = readJobStart(directory);
    const from = resumedFrom(start);
    if (job.status === "completed" || continued.has(job.id)) {
      if (from) continued.add(from.id);
      continue;
    }
    const artifacts = join(directory, ARTIFACTS);
    // Earlier steps are copies of the continued job's best.
    const ownSteps = checkpointSteps(artifacts).filter((step) => step > (from?.step ?? 0));
    if (ownSteps.length === 0) continue;
    const found = ownSteps.filter(savedSteps(directory, start)).map((step) => {
      const checkpoint = join(artifacts, checkpointFolder(step));
      return { jobId: job.id, directory, step, checkpoint };
    });
    if (found.length === 0) continue;
    refuseLinkedArtifacts(directory);
    return found.toReversed();
  }
  return [];
}

/**
 * Returns a predicate for steps that the job may have saved: those in its log, and later ones, because it may have died
 * between saving and logging.
 */
function savedSteps(directory: string, { started }: JobStart): (step: number) => boolean {
  const max = typeof started.maxSteps === "number" ? started.maxSteps : Infinity;
  const logged = new Set<unknown>();
  let newest = 0;
  for (const { event, data } of readLog(directory)) {
    if (event !== "checkpoint.saved" || !isRecord(data)) continue;
    logged.add(data["step"]);
    newest = Math.max(newest, Number(data["step"]));
  }
  return (step) => logged.has(step) || (step > newest && step <= max);
}

/**
 * The id of another job that continues this one, or will when its turn comes.
 * @param ignoredId a job to ignore
 */
export function findConcurrentResume(
  project: string,
  name: string,
  { jobId }: ResumePoint,
  ignoredId?: string,
): string | undefined {
  const isResuming = (job: Job) => {
    if (job.name !== name || job.id === ignoredId || isFinal(job.status)) return false;
    const directory = join(jobsPath(project), job.id);
    // An owner that we can't check may be gone, as in a stopped container.
    const owner = leaseOwner(leasePath(directory));
    if (!owner || ownerState(owner) !== "alive") return false;
    const start = readJobStart(directory);
    if (hasStarted(start)) return resumedFrom(start)?.id === jobId;
    return start.config["resume"] === true;
  };
  return createJobStore(project).list().find(isResuming)?.id;
}
