import { readLog } from "../../../jobs/log/read.ts";
import { readCheckNotes } from "../../../jobs/plannedJob.ts";
import { numbersIn } from "../../../protocol/isRecord.ts";
import type { FileStore } from "./fileStore.ts";
import { errorOf, inRequestWords } from "./jobObject.ts";
import { lossesIn } from "./resultFile.ts";
import { type TuningJob, apiId, modelName, unixTime } from "./tuningJob.ts";

interface EventText {
  message: string;
  level?: "info" | "warn" | "error";
  /** The metrics of a step's event. */
  data?: Record<string, unknown>;
}

/** A job's events in OpenAI's form, newest first. */
export function eventsOf(job: TuningJob, files: FileStore) {
  const { id, request, createdAt, checkedAt } = job;
  const events: (EventText & { at: string | Date })[] = [
    { at: createdAt, message: `Created fine-tuning job: ${apiId(id)}` },
    { at: createdAt, message: `Validating training file: ${request.training_file}` },
  ];
  if (request.validation_file !== undefined) {
    events.push({
      at: createdAt,
      message: `Validating validation file: ${request.validation_file}`,
    });
  }
  for (const { time, text } of readCheckNotes(job.directory)) {
    const level = /^(warning: |ignoring )/.test(text) ? "warn" : "info";
    const message = inRequestWords(text, job, files).replace(/^warning: /, "");
    events.push({ at: time, message: message.replaceAll("\n  ", "; "), level });
  }
  if (checkedAt) {
    events.push({ at: checkedAt, message: "Files validated, moving job to queued state" });
  }
  let steps = NaN;
  let last: { event: string; time: string } | undefined;
  for (const { event, data, time = createdAt } of readLog(job.directory)) {
    last = { event, time };
    if (event === "training.started") steps = numbersIn(data).maxSteps ?? NaN;
    for (const text of textsOf(job, { event, data }, steps, files))
      events.push({ at: time, ...text });
  }
  const { event, time = createdAt } = last ?? {};
  if (job.status === "failed" && event !== "training.failed") {
    // The job's process died without logging it.
    events.push({ at: time, message: errorOf(job, files).message, level: "error" });
  }
  return events
    .map(({ at, message, level = "info", data }, n) => ({
      object: "fine_tuning.job.event",
      id: `ftevent-${id}-${n}`,
      created_at: unixTime(at),
      level,
      message,
      type: data ? "metrics" : "message",
      data: data ?? {},
    }))
    .toReversed();
}

function textsOf(
  job: TuningJob,
  { event, data }: { event: string; data: unknown },
  steps: number,
  files: FileStore,
): EventText[] {
  switch (event) {
    case "training.started":
      return [{ message: "Fine-tuning job started" }, ...warningsOf(job, numbersIn(data))];
    case "training.log":
      return [stepText(data, steps)];
    case "checkpoint.saved":
      return [{ message: `Checkpoint created at step ${numbersIn(data).step}` }];
    case "training.completed":
      return [
        { message: `New fine-tuned model created: ${modelName(job)}` },
        { message: "The job has successfully completed" },
      ];
    case "training.failed":
      return [{ message: errorOf(job, files).message, level: "error" }];
    case "training.cancelled":
      return [{ message: "The job was cancelled" }];
    default:
      return [];
  }
}

/** How a job deviates from its file and its request. */
function warningsOf(
  { request: { method } }: TuningJob,
  {
    rows = 0,
    cut = 0,
    leftOut = 0,
    evalRows = 0,
    evalCut = 0,
    evalLeftOut = 0,
    maxLength,
  }: Record<string, number>,
): EventText[] {
  const { batch_size } = method.hyperparameters;
  const skipped = (file: string, count: number, total: number) =>
    count > 0 &&
    `Skipped ${count} of ${total} rows of the ${file} file: no answer fits in ${maxLength} tokens`;
  const truncated = (file: string, count: number, total: number) =>
    count > 0 &&
    `Cut ${count} of ${total} rows of the ${file} file: they exceed ${maxLength} tokens`;
  const messages = [
    skipped("training", leftOut, rows + leftOut),
    truncated("training", cut, rows + leftOut),
    skipped("validation", evalLeftOut, evalRows + evalLeftOut),
    truncated("validation", evalCut, evalRows + evalLeftOut),
    typeof batch_size === "number" &&
      batch_size > rows &&
      `Reduced batch_size to the rows: ${rows}`,
  ];
  return messages.flatMap((message) =>
    message === false ? [] : { message, level: "warn" as const },
  );
}

function stepText(logged: unknown, steps: number): EventText {
  const { step, train_loss, valid_loss } = lossesIn(logged);
  const lossNames = { "training loss": train_loss, "validation loss": valid_loss };
  const losses = Object.entries(lossNames).flatMap(([name, loss]) =>
    loss === undefined ? [] : [`, ${name}=${loss.toFixed(2)}`],
  );
  return {
    message: `Step ${step}/${steps}: ${losses.join("").slice(2)}`,
    data: { step, total_steps: steps, train_loss, valid_loss },
  };
}
