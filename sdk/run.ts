import type { OwnedJob } from "../jobs/store.ts";
import type { Engine, TrainConfig } from "../protocol/engine.ts";
import { KitError, messageOf } from "../protocol/error.ts";
import type { Artifact, EngineEvent, JobEvent } from "../protocol/event.ts";
import type { Job, JobStatus } from "../protocol/job.ts";
import { type TrainerCallbacks, callLast, createCallbackQueue } from "./callbacks.ts";
import { createCheckpoints } from "./checkpoints.ts";

/** A message longer than this is cut in the log, so that a record stays a line of at most 64 KiB. */
const LONGEST_ERROR = 8_000;

/** How a job ended: `error` is there when it failed. */
export interface RunResult {
  job: Job;
  artifacts: Artifact[];
  error?: Error;
}

export interface RunOptions {
  job: OwnedJob;
  config: TrainConfig;
  engine: Engine;
  callbacks: TrainerCallbacks;
  /** Resolves when the job may train. */
  turn: (signal: AbortSignal) => Promise<void>;
  /** Aborting cancels the job. */
  cancel: AbortSignal;
  /** Aborting fails the job with the reason. What comes first, this or the cancel, decides. */
  failure: AbortController;
  /** Sees each event once it is in the log. */
  onEvent: (event: JobEvent) => void;
}

/** Drives one job from its place in the queue to its last event. Never rejects. */
export async function runJob(options: RunOptions): Promise<RunResult> {
  const { job: owned, config, engine, callbacks, cancel, failure, onEvent } = options;
  const signal = AbortSignal.any([cancel, failure.signal]);
  const fail = (error: unknown) => failure.abort(asError(error));
  const calls = createCallbackQueue(fail);
  const checkpoints = createCheckpoints(engine, owned.directory, signal);
  const artifacts: Artifact[] = [];
  let step = 0;

  const jobAs = (status: JobStatus): Job => ({ ...owned.job, status });

  function record(event: JobEvent): void {
    try {
      owned.append(event);
    } catch (error) {
      throw new KitError(
        "CANNOT_WRITE",
        `Cannot write the job's log in ${owned.directory}: ${messageOf(error)}. Make the folder writable, or free disk space.`,
        { cause: error },
      );
    }
    onEvent(event);
  }

  function handle(event: EngineEvent): void {
    // The log first: what a callback has seen is on disk.
    record(event);
    const job = jobAs("running");
    switch (event.event) {
      case "training.started":
        return calls.add("onStarted", () => callbacks.onStarted?.({ job }));
      case "training.log": {
        const { data } = event;
        step = data.step;
        return calls.add("onLog", () =>
          callbacks.onLog?.({
            job,
            step: data.step,
            loss: data.loss ?? NaN,
            learningRate: data.learningRate ?? NaN,
            gradNorm: data.gradNorm ?? NaN,
            epoch: data.epoch ?? NaN,
            tokensPerSecond: data.tokensPerSecond ?? NaN,
          }),
        );
      }
      case "checkpoint.saved": {
        const artifact = event.data;
        step = artifact.step;
        artifacts.push(artifact);
        const savedSoFar = [...artifacts];
        return calls.add("onCheckpoint", async () => {
          const { infer, close } = checkpoints.open(artifact);
          await callbacks.onCheckpoint?.({
            job,
            step: artifact.step,
            artifacts: savedSoFar,
            infer,
          });
          await close();
        });
      }
    }
  }

  async function finish(): Promise<RunResult> {
    try {
      await options.turn(signal);
      await engine.train({
        config,
        directory: owned.directory,
        signal,
        onEvent: (event) => {
          try {
            handle(event);
          } catch (error) {
            // The log cannot be written: there is no use in training on.
            fail(error);
          }
        },
      });
      calls.add("onCompleted", () =>
        callbacks.onCompleted?.({ job: jobAs("completed"), artifacts }),
      );
      await orAborted(calls.drain(), signal);
      record({ event: "training.completed", data: { artifacts } });
      return { job: jobAs("completed"), artifacts };
    } catch (thrown) {
      calls.stop();
      if (cancel.aborted && signal.reason === cancel.reason) {
        record({ event: "training.cancelled", data: { step } });
        await callLast("onCancelled", () => callbacks.onCancelled?.({ job: jobAs("cancelled") }));
        return { job: jobAs("cancelled"), artifacts };
      }
      const error = asError(signal.aborted ? signal.reason : thrown);
      const message = error.message || `${error.name} without a message`;
      record({ event: "training.failed", data: { error: message.slice(0, LONGEST_ERROR) } });
      await callLast("onFailed", () => callbacks.onFailed?.({ job: jobAs("failed"), error }));
      return { job: jobAs("failed"), artifacts, error };
    }
  }

  try {
    return await finish();
  } catch (error) {
    // The last event could not be written.
    return { job: jobAs("failed"), artifacts, error: asError(error) };
  } finally {
    await checkpoints.close();
    owned.close();
  }
}

/** What `work` resolves with, or a rejection as soon as the signal is aborted. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(asError(signal.reason));
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject);
  });
}

function asError(value: unknown): Error {
  return value instanceof Error ? value : new Error(String(value));
}
