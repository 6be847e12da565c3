import type { EngineEvent } from "../protocol/event.ts";
import type { Job } from "../protocol/job.ts";
import type { Artifact } from "./artifact.ts";
import type { CallbackQueue } from "./callbackQueue.ts";
import type { TrainerCallbacks } from "./callbacks.ts";
import type { Checkpoints } from "./checkpoints.ts";

interface Run {
  job: Job;
  callbacks: TrainerCallbacks;
  calls: CallbackQueue;
  checkpoints: Checkpoints;
  /** Everything saved so far. */
  artifacts: Artifact[];
}

/** Queues the callback that belongs to what an engine reports. */
export function queueCallback(event: EngineEvent, run: Run): void {
  const { job, callbacks, calls, checkpoints, artifacts } = run;
  switch (event.event) {
    case "training.started":
      return calls.add("onStarted", () => callbacks.onStarted?.({ job }));
    case "training.log": {
      const { step, loss, learningRate, gradNorm, epoch, tokensPerSecond } = event.data;
      return calls.add("onLog", () =>
        callbacks.onLog?.({
          job,
          step,
          loss: loss ?? NaN,
          learningRate: learningRate ?? NaN,
          gradNorm: gradNorm ?? NaN,
          epoch: epoch ?? NaN,
          tokensPerSecond: tokensPerSecond ?? NaN,
        }),
      );
    }
    case "checkpoint.saved": {
      const artifact = event.data;
      return calls.add("onCheckpoint", async () => {
        const { infer, close } = checkpoints.open(artifact);
        await callbacks.onCheckpoint?.({ job, step: artifact.step, artifacts, infer });
        await close();
      });
    }
  }
}
