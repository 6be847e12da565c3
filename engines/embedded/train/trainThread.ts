import { join } from "node:path";
import { Worker } from "node:worker_threads";
import type { TrainOptions } from "../../../protocol/engine.ts";
import { ARTIFACTS, removePartial } from "../../checkpoint/directory.ts";
import { EngineError } from "../../error.ts";
import {
  type TrainJob,
  type TrainMessage,
  fromFailure,
  startThread,
  toFailure,
} from "../messages.ts";

/** Trains on a thread of its own, which has ended when this settles. */
export async function trainOnThread(options: TrainOptions): Promise<void> {
  const { config, directory, signal } = options;
  signal.throwIfAborted();
  const worker = startThread(
    () =>
      new Worker(new URL("./trainWorker.js", import.meta.url), {
        // The process's own flags, such as --input-type or --import, are not meant for this thread.
        execArgv: [],
        workerData: { config, directory } satisfies TrainJob,
      }),
  );
  try {
    await outcome(worker, options);
  } finally {
    // Ends a step, or a compilation, in its midst: nothing is lost, for checkpoints are renamed.
    await worker.terminate();
    removePartial(join(directory, ARTIFACTS));
  }
}

function outcome(worker: Worker, options: TrainOptions): Promise<void> {
  const { signal, onEvent, onNote } = options;
  return new Promise((resolve, reject) => {
    let settled = false;
    const settle = (end: () => void) => {
      if (settled) return;
      settled = true;
      signal.removeEventListener("abort", onAbort);
      end();
    };
    const onAbort = () => settle(() => reject(signal.reason as Error));
    signal.addEventListener("abort", onAbort);
    worker.on("message", (message: TrainMessage) => {
      if (settled) return;
      if (message.type === "done") settle(resolve);
      else if (message.type === "failed") settle(() => reject(fromFailure(message.failure)));
      else {
        try {
          if (message.type === "note") onNote?.(message.text);
          else onEvent(message.event);
        } catch (error) {
          const reason = error instanceof Error ? error : new Error(String(error));
          settle(() => reject(reason));
        }
      }
    });
    worker.on("error", (error) => settle(() => reject(fromFailure(toFailure(error)))));
    worker.on("exit", (code) => settle(() => reject(threadEnded(code))));
  });
}

export function threadEnded(code: number): EngineError {
  return new EngineError(
    "WORKER_FAILED",
    `The engine's thread ended by itself with code ${code}: try again.`,
  );
}
