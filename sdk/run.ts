import type { OwnedJob } from "../jobs/store.ts";
import type { Engine, LoadedModel, TrainConfig } from "../protocol/engine.ts";
import { messageOf } from "../protocol/error.ts";
import type { Artifact, EngineEvent, JobEvent } from "../protocol/event.ts";
import type { Job, JobStatus } from "../protocol/job.ts";
import { join } from "node:path";
import { type Infer, type TrainerCallbacks, createTaskQueue } from "./callbacks.ts";

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
  /** Sees each event once it is in the log. */
  onEvent: (event: JobEvent) => void;
}

/** Drives one job from its place in the queue to its last event. Never rejects. */
export async function runJob(options: RunOptions): Promise<RunResult> {
  const { job: owned, config, engine, callbacks, cancel, onEvent } = options;
  const failure = new AbortController();
  const signal = AbortSignal.any([cancel, failure.signal]);
  // Whatever fails after a cancel is an effect of it.
  const fail = (error: unknown) => cancel.aborted || failure.abort(error);
  const tasks = createTaskQueue(fail);
  const models = createModels(engine, owned.directory);
  const artifacts: Artifact[] = [];
  let step = 0;

  const jobAs = (status: JobStatus): Job => ({ ...owned.job, status });

  function record(event: JobEvent): void {
    owned.append(event);
    onEvent(event);
  }

  function handle(event: EngineEvent): void {
    // The log first: what a callback has seen is on disk.
    record(event);
    const job = jobAs("running");
    switch (event.event) {
      case "training.started":
        return tasks.add(() => callbacks.onStarted?.({ job }));
      case "training.log": {
        const { data } = event;
        step = data.step;
        return tasks.add(() =>
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
        return tasks.add(() =>
          callbacks.onCheckpoint?.({
            job,
            step: artifact.step,
            artifacts: savedSoFar,
            infer: models.inferWith(artifact),
          }),
        );
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
      tasks.add(() => callbacks.onCompleted?.({ job: jobAs("completed"), artifacts }));
      await orAborted(tasks.drain(), signal);
      record({ event: "training.completed", data: { artifacts } });
      return { job: jobAs("completed"), artifacts };
    } catch (thrown) {
      tasks.stop();
      if (cancel.aborted && !failure.signal.aborted) {
        record({ event: "training.cancelled", data: { step } });
        await lastWord("onCancelled", () => callbacks.onCancelled?.({ job: jobAs("cancelled") }));
        return { job: jobAs("cancelled"), artifacts };
      }
      const error = asError(failure.signal.aborted ? failure.signal.reason : thrown);
      record({
        event: "training.failed",
        data: { error: messageOf(error).slice(0, LONGEST_ERROR) },
      });
      await lastWord("onFailed", () => callbacks.onFailed?.({ job: jobAs("failed"), error }));
      return { job: jobAs("failed"), artifacts, error };
    }
  }

  try {
    return await finish();
  } catch (error) {
    // The last event could not be written.
    return { job: jobAs("failed"), artifacts, error: asError(error) };
  } finally {
    await models.close();
    owned.close();
  }
}

/** The job has ended already, so a callback that throws now can only be told of. */
async function lastWord(name: string, call: () => void | Promise<void>): Promise<void> {
  try {
    await call();
  } catch (error) {
    process.emitWarning(`${name} threw: ${messageOf(error)}`, "KitWarning");
  }
}

/** Loads a checkpoint when it is first asked, and only then. */
function createModels(engine: Engine, directory: string) {
  const loading: Promise<LoadedModel>[] = [];
  return {
    inferWith({ path }: Artifact): Infer {
      let model: Promise<LoadedModel> | undefined;
      return async (request) => {
        if (!model) {
          model = engine.load(join(directory, path));
          loading.push(model);
        }
        return (await model).infer(request);
      };
    },
    async close() {
      for (const result of await Promise.allSettled(loading)) {
        if (result.status === "fulfilled") await result.value.close();
      }
    },
  };
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
