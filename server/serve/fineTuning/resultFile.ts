import { writeFileSync } from "node:fs";
import { OWNER_ONLY } from "../../../disk/file.ts";
import { readLog } from "../../../jobs/log/read.ts";
import { numbersIn } from "../../../protocol/isRecord.ts";
import type { FileStore } from "./fileStore.ts";
import type { TuningJob } from "./tuningJob.ts";

export function resultFileId({ id }: Pick<TuningJob, "id">): string {
  return `file-results-${id}`;
}

/** A step's losses in a job's log. */
export interface StepLosses {
  step: number;
  train_loss: number | undefined;
  valid_loss: number | undefined;
}

export function lossesIn(data: unknown): StepLosses {
  const { step = NaN, loss, evalLoss } = numbersIn(data);
  return { step, train_loss: loss, valid_loss: evalLoss };
}

/**
 * Writes the losses of a job that has succeeded as a CSV file, unless it exists or was deleted.
 * @throws the errors of a write
 */
export function writeResultFile(job: TuningJob, files: FileStore): void {
  const id = resultFileId(job);
  if (files.recall(id)) return;
  const lines = ["step,train_loss,valid_loss"];
  for (const { event, data } of readLog(job.directory)) {
    if (event !== "training.log") continue;
    const { step, train_loss = "", valid_loss = "" } = lossesIn(data);
    lines.push(`${step},${train_loss},${valid_loss}`);
  }
  const content = `${lines.join("\n")}\n`;
  const partial = files.create();
  try {
    writeFileSync(partial.path, content, { mode: OWNER_ONLY });
    const description = { filename: "step_metrics.csv", purpose: "fine-tune-results" };
    partial.keep({ bytes: Buffer.byteLength(content), ...description }, id);
  } catch (error) {
    // Another server of this project may have written it meanwhile.
    if (!files.recall(id)) throw error;
  } finally {
    partial.discard();
  }
}
