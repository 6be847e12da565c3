import type { CheckOptions } from "../../../protocol/engine.ts";
import type { TrainingCheck } from "../../../protocol/trainingCheck.ts";
import { locateModel } from "../../checkpoint/locateModel.ts";
import { objectiveOf } from "../../objectives/objectives.ts";
import { makeCheckFolder, removeCheckFolder } from "../../training/checkFolder.ts";
import { threadCount } from "../kernels/threadCount.ts";
import { assertConfigFits } from "./assertFits.ts";
import { checkTraining } from "./checkTraining.ts";
import { runOnThreads } from "./trainThread.ts";

/** Prepares data and plans memory as `train` does, but allocates it only to measure losses. */
export async function check({
  config,
  onNote,
  loss,
  signal,
}: CheckOptions): Promise<TrainingCheck> {
  const source = await locateModel(config.model, {
    onNote,
    check: (folder) => assertConfigFits(folder, config.lora),
  });
  // Before training, every pair has the same loss.
  const isMeasured = loss && !objectiveOf(config).needsReference;
  if (loss && !isMeasured)
    onNote?.("no hardest rows: before training, all rows have the same loss");
  if (!isMeasured) return checkTraining({ config, source, onNote, threads: threadCount() });
  // Holds an adapter's base if it isn't on disk yet.
  const directory = makeCheckFolder();
  try {
    const job = { config, directory, source, isCheck: true, resumeFrom: undefined };
    return (await runOnThreads(job, { signal, onNote, onEvent: () => undefined }))!;
  } finally {
    removeCheckFolder(directory);
  }
}
