import type { OwnedJob } from "../jobs/ownedJob.ts";
import { cannotWrite } from "../protocol/cannotWrite.ts";
import type { Engine } from "../protocol/engine.ts";
import { isKitError } from "../protocol/error.ts";
import { type EngineEvent, type JobEvent, isFinalEvent } from "../protocol/event.ts";
import type { Job, JobStatus } from "../protocol/job.ts";
import type { JobConfig } from "../protocol/trainConfig.ts";
import type { Artifact } from "./artifact.ts";
import { callLast, createCallbackQueue } from "./callbackQueue.ts";
import type { TrainerCallbacks } from "./callbacks.ts";
import { createCheckpoints } from "./checkpoints.ts";
import { createEarlyStopping } from "./earlyStopping.ts";
import { callbackOf } from "./eventCallbacks.ts";
import { orAborted } from "./orAborted.ts";
import type { Resumable } from "./resumable.ts";
import { createSavedArtifacts } from "./savedArtifacts.ts";
import { copyBest, takeOver } from "./takeOver.ts";
import { asError } from "./thrown.ts";
import { trainFrom } from "./trainFrom.ts";

/** A longer message is cut in the log, so that its record fits one write. */
const LONGEST_ERROR = 8_000;

/** How a job ended: `error` is there when it failed. */
export interface JobResult {
  job: Job;
  artifacts: Artifact[];
  error?: Error;
}

export interface RunJobOptions {
  job: OwnedJob;
  config: JobConfig;
  engine: Pick<Engine, "name" | "resumeFiles" | "train" | "load">;
  callbacks: TrainerCallbacks;
  /** Resolves when the job may train. */
  turn: (signal: AbortSignal) => Promise<void>;
  /** Finds the checkpoints to go on from, the newest first. */
  resume?: (() => Resumable[]) | undefined;
  /** Aborting cancels the job. */
  cancel: AbortSignal;
  /** Aborting fails the job with the reason, unless `cancel` came first. */
  failure: AbortController;
  /** Sees each event once it is in the log. */
  onEvent: (event: JobEvent) => void;
  /** As the engine's. */
  onNote?: (text: string) => void;
  /** How long a callback may take. Default: an hour. */
  callbackLimitMs?: number;
}

/** Drives one job from its place in the queue to its last event. Never rejects. */
export async function runJob(options: RunJobOptions): Promise<JobResult> {
  const { job: owned, config, engine, callbacks, cancel, failure, onEvent } = options;
  const { onNote = () => {}, callbackLimitMs } = options;
  const signal = AbortSignal.any([cancel, failure.signal]);
  const fail = (error: unknown) => failure.abort(asError(error));
  const calls = createCallbackQueue(fail, callbackLimitMs);
  const checkpoints = createCheckpoints(engine, owned.directory, signal);
  const saved = createSavedArtifacts(owned.directory, config, engine.resumeFiles);
  const stopping = createEarlyStopping(config);
  let step = 0;
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
    onEvent(event);
  }

  /** Returns whether the training is over. */
  function handle(reported: EngineEvent, from: Resumable | undefined): boolean {
    const event = from ? goOn(reported, from) : reported;
    // The log first: what a callback has seen is on disk.
    record(event);
    if (event.event !== "training.started") step = event.data.step;
    saved.see(event);
    const job = jobAs("running");
    const running = { job, callbacks, checkpoints, artifactsUpTo: saved.upTo };
    const { name, call } = callbackOf(event, running);
    calls.add(name, call);
    if (event.event === "checkpoint.saved") {
      const { step: released } = event.data;
      calls.add(name, () => saved.release(released));
    }
    return stopping.see(event);
  }

  /** At the start, counts what was evaluated before, takes over the best, and says so in the event. */
  function goOn(event: EngineEvent, from: Resumable): EngineEvent {
    if (event.event !== "training.started") return event;
    const { started, evaluations } = takeOver(from, config, event.data, onNote);
    step = from.step;
    for (const data of evaluations) {
      saved.see({ event: "training.log", data });
      stopping.see({ event: "training.log", data });
    }
    if (config.loadBestModelAtEnd) {
      const { directory } = owned;
      const best = copyBest(from, evaluations, directory, engine.resumeFiles);
      const kind = config.lora ? "adapter" : "model";
      if (best) saved.see({ event: "checkpoint.saved", data: { ...best, kind } });
      if (best) saved.release(best.step);
    }
    return { event: "training.started", data: { ...event.data, ...started } };
  }

  async function finish(): Promise<JobResult> {
    try {
      await options.turn(signal);
      const listeners = { onNote, onEvent: handle, onError: fail };
      const train = { config, directory: owned.directory, signal, ...listeners };
      const isStopped = await trainFrom(options.resume?.() ?? [], engine, train);
      if (isStopped) saved.removeUnknown();
      const completed = jobAs("completed");
      calls.add("onCompleted", () =>
        callbacks.onCompleted?.({ job: completed, artifacts: saved.result() }),
      );
      await orAborted(calls.drain(), signal);
      const artifacts = saved.result();
      const named = artifacts.map(({ directory: _, ...artifact }) => artifact);
      const data = { artifacts: named, stoppedAt: stopping.stoppedAt() };
      record({ event: "training.completed", data });
      saved.dropResumeFiles();
      return { job: completed, artifacts };
    } catch (thrown) {
      calls.stop();
      if (!isCancelled()) return endAsFailed(asError(signal.aborted ? signal.reason : thrown));
      record({ event: "training.cancelled", data: { step } });
      const job = jobAs("cancelled");
      await callLast("onCancelled", () => callbacks.onCancelled?.({ job }), callbackLimitMs);
      return { job, artifacts: saved.result() };
    }
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
    if (hasEnded) return;
    const error = `The process ended with exit code ${code} before the job did. Remove the process.exit() from the callbacks and the code that they call.`;
    try {
      if (isCancelled()) record({ event: "training.cancelled", data: { step } });
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
