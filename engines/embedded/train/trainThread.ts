import { join } from "node:path";
import { type MessagePort, MessageChannel, Worker } from "node:worker_threads";
import { ARTIFACTS } from "../../../protocol/artifactPath.ts";
import type { TrainOptions } from "../../../protocol/engine.ts";
import type { TrainingCheck } from "../../../protocol/trainingCheck.ts";
import { removePartial } from "../../checkpoint/directory.ts";
import { locateModel } from "../../checkpoint/locateModel.ts";
import { threadCount } from "../kernels/threadCount.ts";
import {
  type TrainJob,
  type TrainListeners,
  fromFailure,
  helperFailed,
  outcomeOf,
  startThread,
  threadEnded,
  toFailure,
} from "../messages.ts";
import { assertConfigFits } from "./assertFits.ts";

/** Trains on threads of its own. They have exited when the promise settles. */
export async function trainOnThread(options: TrainOptions): Promise<void> {
  const { config, directory, resumeFrom, signal } = options;
  signal.throwIfAborted();
  const source = await locateModel(config.model, {
    ...options,
    check: (folder) => assertConfigFits(folder, config.lora),
  });
  try {
    await runOnThreads({ config, directory, source, resumeFrom }, options);
  } finally {
    removePartial(join(directory, ARTIFACTS));
  }
}

/** As `trainOnThread`, or only checks. @returns the result of a check */
export async function runOnThreads(
  job: Omit<TrainJob, "helpers">,
  listeners: TrainListeners,
): Promise<TrainingCheck | undefined> {
  const channels = Array.from({ length: threadCount() - 1 }, () => new MessageChannel());
  const ports = channels.map(({ port1 }) => port1);
  /** The training thread, then its helpers. */
  const started: Worker[] = [];
  try {
    const worker = startThread(
      () =>
        new Worker(new URL("./trainWorker.js", import.meta.url), {
          // The thread must not inherit the process's flags, such as --input-type or --import.
          execArgv: [],
          workerData: { ...job, helpers: ports } satisfies TrainJob,
          transferList: ports,
        }),
      "training",
    );
    started.push(worker);
    for (const { port2 } of channels) started.push(startHelper(port2));
    return await outcome(worker, started.slice(1), listeners);
  } finally {
    // This may interrupt a step, but never damages a checkpoint, which is renamed into place.
    await Promise.all(started.map((thread) => thread.terminate()));
  }
}

/** Starts a thread that joins once the port delivers its initial data. */
function startHelper(port: MessagePort): Worker {
  const helper = startThread(
    () => new Worker(new URL("../step/helperWorker.js", import.meta.url), { execArgv: [] }),
    "training",
    "Set KIT_THREADS=1 to train without helpers, end other programs",
  );
  helper.postMessage(port, [port]);
  return helper;
}

function outcome(
  worker: Worker,
  helpers: Worker[],
  listeners: TrainListeners,
): Promise<TrainingCheck | undefined> {
  return outcomeOf(listeners, (onMessage, fail) => {
    worker.on("message", onMessage);
    worker.on("error", (error) => fail(fromFailure(toFailure(error, "training"))));
    worker.on("exit", (code) => fail(threadEnded(code)));
    for (const helper of helpers) {
      // The other threads would wait for it forever at their next barrier.
      helper.on("error", (error) => fail(helperFailed(error, "training")));
      helper.on("exit", (code) => {
        // With code 0, the training thread exited before this one joined, and reports its own error.
        if (code !== 0) fail(helperFailed(`code ${code}`, "training"));
      });
    }
  });
}
