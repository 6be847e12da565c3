import { lostContact, orCannotFollow } from "../../jobs/remote/lostContact.ts";
import type { ResumePoint } from "../../jobs/resumePoint.ts";
import { cannotWrite } from "../../protocol/cannotWrite.ts";
import { endedTooEarly } from "../../protocol/entry.ts";
import { KitError, isKitError, isOutOfReach } from "../../protocol/error.ts";
import { type EngineEvent, type JobEvent, isFinalEvent } from "../../protocol/event.ts";
import type { Job, JobStatus } from "../../protocol/job.ts";
import type { RemoteLocation } from "../../protocol/remoteLocation.ts";
import { listed } from "../models/artifact.ts";
import { callLast, createCallbackQueue } from "./callbackQueue.ts";
import { asError } from "./callerError.ts";
import { createCheckpoints } from "./checkpoints.ts";
import { callbackOf } from "./eventCallbacks.ts";
import { createJobEvaluation } from "./jobEvaluation.ts";
import { createJobProgress } from "./jobProgress.ts";
import type { JobResult } from "./jobResult.ts";
import { orAborted } from "./orAborted.ts";
import type { RunJobOptions } from "./runJobOptions.ts";

/** A longer message is cut in the log, so that its record fits one write. */
const LONGEST_ERROR = 8_000;

/** Drives one job from its place in the queue to its last event. Never rejects. */
export async function runJob(options: RunJobOptions): Promise<JobResult> {
  const { job: owned, config, engine, callbacks, metrics, cancel, failure, observer } = options;
  const { recorded, startsAt, callbackLimitMs } = options;
  const stuck = new AbortController();
  const leaving = options.leave ? [options.leave] : [];
  const leave = AbortSignal.any([...leaving, owned.taken, stuck.signal]);
  const signal = AbortSignal.any([cancel, failure.signal]);
  const fail = (error: unknown) => failure.abort(asError(error));
  const { onNote } = observer;
  const calls = createCallbackQueue({
    ...{ onError: fail, onNote, limitMs: callbackLimitMs },
    has: (name) => callbacks[name] !== undefined,
  });
  const checkpoints = createCheckpoints(engine, owned.directory, { signal, onNote });
  const progress = createJobProgress({
    directory: owned.directory,
    config,
    engine,
    onNote,
    startsAt,
  });
  const { saved } = progress;
  const over = new AbortController();
  const evaluation = createJobEvaluation({
    ...{ config, metrics, engine, job: { ...owned.job, status: "running" }, callbacks, calls },
    ...{ checkpoints, progress, recorded: recorded?.events ?? [], record, signal, onNote },
    ...{ directory: owned.directory, limitMs: callbackLimitMs },
    onOver: () => over.abort(),
  });
  let location = recorded?.location;
  let hasEnded = false;

  const jobAs = (status: JobStatus): Job => ({ ...owned.job, status });
  const isCancelled = () => cancel.aborted && signal.reason === cancel.reason;

  function record(event: JobEvent): void {
    try {
      owned.append(event);
    } catch (error) {
      if (isKitError(error)) throw error;
      throw cannotWrite(`write the job's log in ${owned.directory}`, error);
    }
    hasEnded ||= isFinalEvent(event);
    observer.onEvent(event);
  }

  /** Returns whether the training is over. */
  function handle(reported: EngineEvent, from: ResumePoint | undefined): boolean {
    const event = progress.begin(reported, from);
    // The log first: what a callback has seen is on disk.
    record(event);
    const isOver = progress.onEvent(event);
    if (event.event === "training.started") evaluation.onStarted();
    if (event.event === "checkpoint.saved") evaluation.onSaved(event.data);
    const job = jobAs("running");
    const running = { job, callbacks, checkpoints, artifactsUpTo: saved.upTo };
    const { name, call } = callbackOf(event, running);
    calls.add(name, async () => {
      await call();
      if (event.event === "checkpoint.saved") saved.release(event.data.step);
    });
    return isOver;
  }

  const toFollowError = (error: unknown) =>
    location ? orCannotFollow(error, owned.directory) : error;

  function onError(error: unknown): void {
    const told = toFollowError(error);
    (isOutOfReach(told) ? stuck : failure).abort(asError(told));
  }

  function goRemote(where: RemoteLocation, from: ResumePoint | undefined): void {
    owned.recordRemote({
      ...where,
      ...(from && { resumed: { jobId: from.jobId, step: from.step } }),
    });
    location = where;
    observer.onRemote(where);
  }

  async function finish(): Promise<JobResult> {
    try {
      const isOver = recorded ? progress.replay(recorded) : false;
      const listeners = { onNote, onEvent: handle, onError, onRemote: goRemote };
      const training = {
        ...{ config, directory: owned.directory, signal, leave, isOver },
        ...{ over: over.signal, beforeTraining: evaluation.prepare },
      };
      const startedAt = performance.now();
      const isStopped = await options.train({ ...training, ...listeners });
      if (isStopped) saved.removeUnknown();
      if (saved.result().length === 0) throw savedNothing(engine.name);
      const completed = jobAs("completed");
      const divergence = progress.divergence();
      if (!divergence) {
        calls.add("onCompleted", () =>
          callbacks.onCompleted?.({ job: completed, artifacts: saved.result() }),
        );
      }
      await orAborted(calls.drain(), AbortSignal.any([signal, ...(location ? [leave] : [])]));
      if (divergence) throw divergence;
      const artifacts = saved.result();
      const cost = evaluation.costNote((performance.now() - startedAt) / 1000);
      if (cost !== undefined) onNote(cost);
      const stoppedAt = isStopped ? progress.stoppedAt() : undefined;
      const data = { ...listed(artifacts), stoppedAt };
      record({ event: "training.completed", data });
      saved.dropResumeFiles();
      return { job: completed, artifacts };
    } catch (caught) {
      calls.stop();
      const thrown = toFollowError(caught);
      const isLeft = (leave.aborted && thrown === leave.reason) || isOutOfReach(thrown);
      // If the remote cancel failed, the job is still running.
      const isOurs = signal.aborted && !(isCancelled() && isOutOfReach(thrown));
      if (location && isLeft && !isOurs) return detach(location, thrown);
      if (!isCancelled()) return endAsFailed(asError(signal.aborted ? signal.reason : thrown));
      record({ event: "training.cancelled", data: { step: progress.step() } });
      const job = jobAs("cancelled");
      await callLast("onCancelled", () => callbacks.onCancelled?.({ job }), callbackLimitMs);
      return { job, artifacts: saved.result() };
    }
  }

  /** The job has no end yet. */
  function detach(where: RemoteLocation, thrown: unknown): JobResult {
    const left = { job: jobAs("running"), artifacts: saved.result() };
    if (owned.taken.aborted) return { ...left, error: asError(owned.taken.reason) };
    if (isOutOfReach(thrown)) return { ...left, error: lostContact(owned.job, where, thrown) };
    observer.onLeft(where);
    return left;
  }

  async function endAsFailed(error: Error): Promise<JobResult> {
    const message = error.message || `${error.name} without a message`;
    try {
      record({ event: "training.failed", data: { error: message.slice(0, LONGEST_ERROR) } });
    } catch {
      // The log cannot be written any more; wait() still rejects with the error.
      hasEnded = true;
    }
    const job = jobAs("failed");
    await callLast("onFailed", () => callbacks.onFailed?.({ job, error }), callbackLimitMs);
    return { job, artifacts: saved.result(), error };
  }

  /** The last chance to write how the job ended, when the project's code ends the process. */
  function onExit(code: number): void {
    // One that runs remotely goes on there.
    if (hasEnded || location) return;
    const error = endedTooEarly("job", code);
    try {
      if (isCancelled()) record({ event: "training.cancelled", data: { step: progress.step() } });
      else record({ event: "training.failed", data: { error } });
    } catch {
      // Readers see that the owner is gone.
    }
  }

  process.once("exit", onExit);
  try {
    return await finish().catch((error: unknown) => endAsFailed(asError(error)));
  } finally {
    process.off("exit", onExit);
    await checkpoints.close();
    owned.close();
  }
}

function savedNothing(engine: string): KitError {
  return new KitError(
    "ENGINE_REPORT_INVALID",
    `The engine ${engine} ended without a checkpoint. Update Kit and the engine to compatible versions.`,
  );
}
