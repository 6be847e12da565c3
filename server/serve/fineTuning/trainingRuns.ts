import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { basename, join } from "node:path";
import { OWNER_ONLY } from "../../../disk/file.ts";
import { describeEnd } from "../../../disk/processEnd.ts";
import { signalTree } from "../../../disk/processTree.ts";
import { isPlanned } from "../../../jobs/jobFile.ts";
import { endPlanned } from "../../../jobs/plannedJob.ts";
import type { JobStore } from "../../../jobs/store.ts";
import { isKitError, messageOf } from "../../../protocol/error.ts";
import { type TuningJob, hasEnded, readTuningJob } from "./tuningJob.ts";

const POLL_MS = 1_000;

/** The `kit` command that checks a planned job, or trains it. */
type Work = "check" | "start";

export interface TrainingRunsOptions {
  project: string;
  /** The `kit` command: a program and its first arguments. */
  kit: string[];
  jobs: JobStore;
  /** Called with each job that may have a new model to serve. */
  onModel: (job: TuningJob) => Promise<void>;
  onError: (error: unknown) => void;
}

/** Checks and trains the planned jobs of a project, one at a time each, in processes that outlive this one. */
export interface TrainingRuns {
  /** Begins to look for work. Resolves when every model that exists is served. */
  start: () => Promise<void>;
  /** Looks for work now. Resolves as `start`. */
  update: () => Promise<void>;
  /** Starts no further processes. */
  close: () => void;
}

export function createTrainingRuns(options: TrainingRunsOptions): TrainingRuns {
  const { project, kit, jobs, onModel, onError } = options;
  /** The processes of this server, by their work. */
  const processes = new Map<Work, { id: string; child: ChildProcess }>();
  /** Jobs that need nothing more. */
  const finishedJobs = new Set<string>();
  /** Why jobs' models could not be served, by job. */
  const failures = new Map<string, string>();
  let isClosed = false;
  let updating = Promise.resolve();
  let next: Promise<void> | undefined;

  function findOpenJobs(): TuningJob[] {
    const unfinished = jobs.list().filter(({ id }) => !finishedJobs.has(id));
    const open = unfinished.flatMap(({ id }) => {
      const job = readTuningJob(jobs, id);
      // The API did not create it, which never changes.
      if (!job) finishedJobs.add(id);
      return job ?? [];
    });
    return open.toReversed();
  }

  async function update(): Promise<void> {
    const openJobs = findOpenJobs();
    for (const job of openJobs) {
      try {
        await onModel(job);
        if (hasEnded(job)) finishedJobs.add(job.id);
      } catch (error) {
        // The next update tries again, and reports only another error.
        const reason = messageOf(error);
        if (failures.get(job.id) !== reason) onError(error);
        failures.set(job.id, reason);
      }
    }
    if (isClosed) return;
    const planned = openJobs.filter((job) => isPlanned(job.directory) && !hasEnded(job));
    // A check reads its whole file, even if its job was cancelled.
    const { id: checking, child } = processes.get("check") ?? {};
    const isOver = planned.every(({ id }) => id !== checking);
    if (isOver && child) signalTree(child, "SIGKILL");
    const [unchecked] = planned.filter(({ checkedAt }) => !checkedAt);
    if (unchecked) begin("check", unchecked);
    // The others wait without a process, which would take memory.
    const hasBegun = openJobs.some((job) => !isPlanned(job.directory) && !hasEnded(job));
    const [next] = planned.filter(({ checkedAt }) => checkedAt);
    if (next && !hasBegun) begin("start", next);
  }

  function begin(work: Work, { id, directory }: TuningJob): void {
    if (processes.has(work)) return;
    const output = openSync(join(directory, "output.log"), "a", OWNER_ONLY);
    const [program = "", ...first] = kit;
    const child = spawn(program, [...first, work, "--planned", id], {
      cwd: project,
      stdio: ["ignore", output, output],
      // It outlives this server.
      detached: true,
      windowsHide: true,
    });
    closeSync(output);
    child.unref();
    processes.set(work, { id, child });
    const end = (outcome: string) => {
      processes.delete(work);
      if (!isClosed) void failIfNotBegun(work, directory, outcome).then(updateSoon);
    };
    child.once("error", ({ message }) => end(message));
    child.once("exit", (code, signal) => end(describeEnd(code, signal)));
  }

  /** Ends a job whose process has ended without a result. */
  async function failIfNotBegun(work: Work, directory: string, outcome: string): Promise<void> {
    const job = readTuningJob(jobs, basename(directory));
    const isResult = !job || hasEnded(job) || (work === "check" && job.checkedAt);
    if (isResult || !isPlanned(directory)) return;
    const error = `kit ${work} ended with ${outcome} before the training began (out of memory?). Its output is in ${directory}/output.log.`;
    try {
      await endPlanned(directory, { event: "training.failed", data: { error } });
    } catch (thrown) {
      // Another server began it, or it was cancelled.
      if (!isKitError(thrown) || thrown.code !== "JOB_TAKEN") onError(thrown);
    }
  }

  /** Updates one after another, so that no model is added twice; one queued update is enough. */
  function updateSoon(): Promise<void> {
    next ??= updating.then(() => {
      next = undefined;
      return update().catch(onError);
    });
    return (updating = next);
  }

  let timer: NodeJS.Timeout | undefined;
  return {
    start() {
      timer = setInterval(() => void updateSoon(), POLL_MS);
      return updateSoon();
    },
    update: updateSoon,
    close() {
      isClosed = true;
      clearInterval(timer);
    },
  };
}
