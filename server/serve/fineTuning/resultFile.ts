import { readLog } from "../../../jobs/log/read.ts";
import { numbersIn } from "../../../protocol/isRecord.ts";
import type { FileObject } from "./fileStore.ts";
import { type TuningJob, unixTime } from "./tuningJob.ts";

const PREFIX = "file-results-";

/** The id of a job's result file, which is made from its log whenever it is read. */
export function resultFileId(id: string): string {
  return PREFIX + id;
}

/** The job of a result file; undefined for any other file. */
export function jobOfResultFile(file: string): string | undefined {
  return file.startsWith(PREFIX) ? file.slice(PREFIX.length) : undefined;
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

/** The content of a job's result file: a CSV of its losses. */
export function resultContent({ directory }: Pick<TuningJob, "directory">): string {
  const lines = ["step,train_loss,valid_loss"];
  for (const { event, data } of readLog(directory)) {
    if (event !== "training.log") continue;
    const { step, train_loss = "", valid_loss = "" } = lossesIn(data);
    lines.push(`${step},${train_loss},${valid_loss}`);
  }
  return `${lines.join("\n")}\n`;
}

export function asResultFile(job: TuningJob): FileObject {
  return {
    id: resultFileId(job.id),
    object: "file",
    bytes: Buffer.byteLength(resultContent(job)),
    created_at: unixTime(job.createdAt),
    filename: "step_metrics.csv",
    purpose: "fine-tune-results",
    status: "processed",
  };
}
