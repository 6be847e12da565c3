import { join } from "node:path";
import { statsOf, writeFileAtomically } from "../disk/file.ts";
import { readJson } from "../disk/json.ts";
import { takeLock } from "../disk/lock.ts";
import { KitError, cannotWrite, isKitError } from "../protocol/error.ts";
import type { FinalEvent } from "../protocol/event.ts";
import { isRecord } from "../protocol/isRecord.ts";
import type { JobConfig } from "../protocol/trainConfig.ts";
import { requestCancel } from "./cancelRequest.ts";
import { type PlanFile, isPlanned, readPlan, writeJobFile, writePlan } from "./jobFile.ts";
import { findNewest } from "./log/read.ts";
import { type OwnedJob, makeJobFolder, ownJob } from "./ownedJob.ts";
import { jobsPath, logPath } from "./paths.ts";
import { finalStatus } from "./status.ts";

/** How long another process may take to begin or end a planned job. */
const BEGIN_MS = 10_000;
const NOTES = "checkNotes.json";

/**
 * Plans a job: it stays `queued`, behind all others, until a process begins it.
 * @throws KitError `CANNOT_WRITE`
 */
export function planJob(project: string, plan: Omit<PlanFile, "id" | "createdAt">): PlanFile {
  const root = jobsPath(project);
  try {
    const { id, directory, createdAt } = makeJobFolder(root);
    const file = { id, createdAt, ...plan };
    // Last, because this file makes the job visible.
    writePlan(directory, file);
    return file;
  } catch (error) {
    throw cannotWrite(`create a job in ${root}`, error);
  }
}

/**
 * Makes this process the owner of a planned job.
 * @throws KitError `JOB_NOT_FOUND`, `JOB_TAKEN` if it has begun or ended, `CANNOT_WRITE`
 */
export function beginPlanned(project: string, id: string, config: JobConfig): Promise<OwnedJob> {
  const directory = join(jobsPath(project), id);
  return claim(directory, (owned) => {
    const { name, createdAt } = owned.job;
    writeJobFile(directory, { id, name, createdAt, config });
    return owned;
  });
}

/**
 * Ends a planned job before it begins.
 * @throws KitErrors of `beginPlanned`
 */
export async function endPlanned(directory: string, end: FinalEvent): Promise<void> {
  await claim(directory, (owned) => {
    owned.append(end);
    owned.close();
  });
}

/**
 * Cancels a planned job at once, or asks the process that owns a job to cancel it.
 * @throws KitError `CANNOT_WRITE`, `JOB_NOT_FOUND` if it was deleted meanwhile
 */
export async function cancelJob(directory: string): Promise<void> {
  try {
    if (isPlanned(directory)) {
      return await endPlanned(directory, { event: "training.cancelled", data: { step: 0 } });
    }
  } catch (error) {
    // It has begun meanwhile.
    if (!isKitError(error) || error.code !== "JOB_TAKEN") throw error;
  }
  requestCancel(directory);
}

/** Calls `use` as the job's owner. If several processes try, only one succeeds. */
async function claim<T>(directory: string, use: (owned: OwnedJob) => T): Promise<T> {
  const plan = readPlan(directory);
  if (!plan) {
    throw new KitError("JOB_NOT_FOUND", `There is no planned job in ${directory}. See kit jobs.`);
  }
  const lock = await takeLock(join(directory, "begin.lock"), BEGIN_MS);
  try {
    if (!lock || !isPlanned(directory) || hasEnded(directory)) {
      throw new KitError("JOB_TAKEN", `Job ${plan.id} has begun or ended already. See kit jobs.`);
    }
    const { id, name, createdAt } = plan;
    const owned = ownJob(directory, { id, name, status: "queued", createdAt });
    try {
      return use(owned);
    } catch (error) {
      owned.close();
      throw isKitError(error) ? error : cannotWrite(`write ${directory}`, error);
    }
  } finally {
    lock?.release();
  }
}

/** Whether a planned job has ended. */
export function hasEnded(directory: string): boolean {
  return findNewest(logPath(directory), finalStatus)?.found !== undefined;
}

/** What the check of a planned job noted. */
export interface CheckNote {
  /** ISO 8601, UTC. */
  time: string;
  text: string;
}

export function writeCheckNotes(directory: string, notes: readonly CheckNote[]): void {
  writeFileAtomically(join(directory, NOTES), JSON.stringify(notes));
}

export function readCheckNotes(directory: string): CheckNote[] {
  const notes = readJson(join(directory, NOTES));
  const records = Array.isArray(notes) ? notes.filter(isRecord) : [];
  return records.map(({ time, text }) => ({ time: String(time), text: String(text) }));
}

/**
 * Records that a planned job passed its check.
 * @param length batch size and epochs, which the check derives from the number of rows
 */
export function recordChecked(directory: string, length: Record<string, unknown>): void {
  const plan = readPlan(directory);
  if (plan) writePlan(directory, { ...plan, trainer: { ...plan.trainer, ...length } });
  writeFileAtomically(checkedPath(directory), "");
}

/** When a planned job passed its check; undefined before. */
export function checkedAt(directory: string): Date | undefined {
  return statsOf(checkedPath(directory))?.mtime;
}

function checkedPath(directory: string): string {
  return join(directory, "checked");
}
