import { readLog } from "../../../jobs/log/read.ts";
import { numbersIn } from "../../../protocol/isRecord.ts";
import { lossesIn } from "./resultFile.ts";
import { type TuningJob, apiId, checkpointName, stepsOf, unixTime } from "./tuningJob.ts";

/** A job's checkpoints in OpenAI's form, newest first. Each is a model under its own name. */
export function checkpointsOf(job: TuningJob) {
  const { id, directory } = job;
  const existingSteps = new Set(stepsOf(job));
  const metrics = new Map<number, object>();
  const savedAt = new Map<number, string>();
  for (const { event, data, time = job.createdAt } of readLog(directory)) {
    const { step = NaN } = numbersIn(data);
    if (event === "checkpoint.saved" && existingSteps.has(step)) savedAt.set(step, time);
    if (event !== "training.log") continue;
    const { train_loss, valid_loss } = lossesIn(data);
    metrics.set(step, { step, train_loss, valid_loss, full_valid_loss: valid_loss });
  }
  return [...savedAt].toReversed().map(([step, time]) => ({
    object: "fine_tuning.job.checkpoint",
    id: `ftckpt-${id}-${step}`,
    created_at: unixTime(time),
    fine_tuned_model_checkpoint: checkpointName(job, step),
    fine_tuning_job_id: apiId(id),
    metrics: metrics.get(step) ?? { step },
    step_number: step,
  }));
}
