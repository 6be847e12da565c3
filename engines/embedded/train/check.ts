import type { CheckOptions } from "../../../protocol/engine.ts";
import type { TrainingCheck } from "../../../protocol/trainingCheck.ts";
import { locateModel } from "../../checkpoint/locateModel.ts";
import { makeCheckFolder, removeCheckFolder } from "../../training/checkFolder.ts";
import { checkTraining, measuresLoss } from "../../training/checkTraining.ts";
import { threadCount } from "../kernels/threadCount.ts";
import { assertConfigFits } from "./assertFits.ts";
import { embeddedBackend } from "./backend.ts";
import { runOnThreads } from "./trainThread.ts";

/** Prepares data and plans memory as `train` does, but allocates it only to measure losses. */
export async function check(options: CheckOptions): Promise<TrainingCheck> {
  const { config, onNote, signal } = options;
  const source = await locateModel(config.model, {
    onNote,
    check: (folder) => assertConfigFits(folder, config.lora),
  });
  if (!measuresLoss(options)) {
    const planBackend = embeddedBackend({ threads: threadCount(), initWorkers() {}, onNote });
    return checkTraining({ config, source, planBackend, onNote });
  }
  // Holds an adapter's base if it isn't on disk yet.
  const directory = makeCheckFolder();
  try {
    const job = { config, directory, source, isCheck: true, resumeFrom: undefined };
    return (await runOnThreads(job, { signal, onNote, onEvent: () => undefined }))!;
  } finally {
    removeCheckFolder(directory);
  }
}
