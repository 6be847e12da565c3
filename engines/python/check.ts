import type { CheckOptions } from "../../protocol/engine.ts";
import { KitError } from "../../protocol/error.ts";
import type { TrainingCheck } from "../../protocol/trainingCheck.ts";
import { makeCheckFolder, removeCheckFolder } from "../training/checkFolder.ts";
import { startChild, throwIfFailed } from "./child.ts";
import { customCodeCheck } from "./customCodeCheck.ts";
import { createJob } from "./job.ts";
import type { Python } from "./python.ts";
import { describe, withAdvice } from "./train.ts";

/** Prepares a training run like `train`, in a temporary folder. */
export async function check(
  python: Python,
  { config, onNote, loss }: CheckOptions,
): Promise<TrainingCheck> {
  const directory = makeCheckFolder();
  try {
    const interpreter = python.find();
    const job = await createJob({
      config,
      directory,
      onNote,
      check: customCodeCheck(python, { onNote }),
    });
    const child = startChild("check", {
      interpreter,
      env: python.env,
      job: { ...job, measuresLoss: loss },
      onMessage(message) {
        if (message.type === "note") onNote?.(message.text);
        else if (message.type === "hello") onNote?.(describe(message, `from ${interpreter.from}`));
      },
    });
    const last = await child.ended;
    throwIfFailed(last);
    if (last.type !== "done" || !last.check) {
      throw new KitError("WORKER_FAILED", "The Python process returned no check. Try again.");
    }
    const { skipped, started, ...found } = last.check;
    return { ...found, started: withAdvice(started, skipped, job) };
  } finally {
    removeCheckFolder(directory);
  }
}
