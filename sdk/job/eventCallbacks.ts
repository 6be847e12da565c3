import type { EngineEvent, Measured } from "../../protocol/event.ts";
import type { TrainerCallbacks } from "../callbacks.ts";
import { type Run, jobWithStatus } from "./run.ts";

interface Call {
  name: keyof TrainerCallbacks;
  call: () => unknown;
}

/** The callback for an engine's event. */
export function callbackOf(event: EngineEvent, run: Run): Call {
  const { callbacks, checkpoints, progress } = run;
  const job = jobWithStatus(run, "running");
  switch (event.event) {
    case "training.started":
      return { name: "onStarted", call: () => callbacks.onStarted?.({ job }) };
    case "training.log": {
      const { step, loss, evalLoss, learningRate, gradNorm, epoch, tokensPerSecond, metrics } =
        event.data;
      const context = {
        job,
        step,
        loss: loss ?? NaN,
        ...(evalLoss !== undefined && { evalLoss: evalLoss ?? NaN }),
        learningRate: learningRate ?? NaN,
        gradNorm: gradNorm ?? NaN,
        epoch: epoch ?? NaN,
        tokensPerSecond: tokensPerSecond ?? NaN,
        ...(metrics && { metrics: withNaN(metrics) }),
      };
      return { name: "onLog", call: () => callbacks.onLog?.(context) };
    }
    case "checkpoint.saved": {
      const artifact = event.data;
      const call = async () => {
        const { step } = artifact;
        const { infer, close } = checkpoints.open(artifact);
        // Later artifacts may be removed before the call.
        const artifacts = progress.saved.upTo(step);
        await callbacks.onCheckpoint?.({ job, step, artifacts, infer });
        await close();
      };
      return { name: "onCheckpoint", call };
    }
  }
}

function withNaN(metrics: Record<string, Measured>): Record<string, number> {
  return Object.fromEntries(Object.entries(metrics).map(([name, value]) => [name, value ?? NaN]));
}
