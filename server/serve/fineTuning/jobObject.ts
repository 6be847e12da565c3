import { readJobConfig } from "../../../jobs/jobFile.ts";
import { readLog } from "../../../jobs/log/read.ts";
import { OWNER_GONE, OWNER_SILENT } from "../../../jobs/status.ts";
import { isFinalEvent } from "../../../protocol/event.ts";
import { numbersIn } from "../../../protocol/isRecord.ts";
import { NO_PROGRESS, reduceProgress, secondsLeft } from "../../../protocol/progress.ts";
import type { FileStore } from "./fileStore.ts";
import { type Method, settledMethod } from "./hyperparameters.ts";
import { resultFileId } from "./resultFile.ts";
import { type TuningJob, apiId, modelName, unixTime } from "./tuningJob.ts";

/** A job as OpenAI's `fine_tuning.job`. */
export function asJobObject(job: TuningJob, files: FileStore) {
  const { id, request, status, directory } = job;
  const { model, training_file, validation_file, seed, metadata } = request;
  let progress = NO_PROGRESS;
  let started: Record<string, number> = {};
  let finishedAt: number | undefined;
  for (const { event, data, time = "" } of readLog(directory)) {
    progress = reduceProgress(progress, { event, data, at: Date.parse(time) });
    if (event === "training.started") started = numbersIn(data);
    if (isFinalEvent({ event })) finishedAt = unixTime(time);
  }
  const { tokens = NaN, epochs } = started;
  const trained = Math.round(tokens * (epochs ?? NaN));
  const isSucceeded = status === "succeeded";
  const left = secondsLeft(progress.first, progress.last, progress.steps);
  const isEstimated = status === "running" && left !== undefined && progress.last;
  const method = settledMethod(request.method, readJobConfig(directory) ?? {}, epochs);
  return {
    object: "fine_tuning.job",
    id: apiId(id),
    model,
    created_at: unixTime(job.createdAt),
    finished_at: finishedAt ?? null,
    fine_tuned_model: isSucceeded ? modelName(job) : null,
    organization_id: "kit",
    result_files: isSucceeded ? [resultFileId(id)] : [],
    status,
    validation_file: validation_file ?? null,
    training_file,
    hyperparameters: method.hyperparameters,
    trained_tokens: isSucceeded && Number.isFinite(trained) ? trained : null,
    error: status === "failed" ? errorOf(job, files) : null,
    integrations: [],
    seed,
    estimated_finish: isEstimated ? unixTime(progress.last!.at + left * 1000) : null,
    metadata: metadata ?? null,
    method: asMethod(method),
  };
}

function asMethod({ type, hyperparameters }: Method): object {
  return { type, [type]: { hyperparameters } };
}

/** Why a job failed. Names files as they were uploaded, without paths. */
export function errorOf({ request, error = "", directory }: TuningJob, files: FileStore) {
  const named = (["validation_file", "training_file"] as const).find((param) => {
    const id = request[param];
    return id !== undefined && error.includes(`${id}/`);
  });
  const id = named && request[named];
  const path = id === undefined ? "\0" : files.contentPath(id);
  const [project = ""] = directory.split("/.kit/");
  const local = (text: string) => text.replaceAll(`${project}/`, "");
  const filename = (id !== undefined && files.get(id)?.filename) || "the file";
  const message = local(error).replaceAll(local(path), filename);
  if (named) return { code: `invalid_${named}`, message, param: named };
  const isGone = error === OWNER_GONE || error === OWNER_SILENT;
  if (!isGone) return { code: "training_failed", message, param: null };
  const advice = "Look at its output.log in .kit/jobs, then create it again.";
  return { code: "training_died", message: `The job's process died. ${advice}`, param: null };
}
