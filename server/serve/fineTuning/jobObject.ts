import { basename, join } from "node:path";
import { readJobConfig } from "../../../jobs/jobFile.ts";
import { readLog } from "../../../jobs/log/read.ts";
import { OWNER_GONE, OWNER_SILENT } from "../../../jobs/status.ts";
import { numbersIn } from "../../../protocol/isRecord.ts";
import { NO_PROGRESS, reduceProgress, secondsLeft } from "../../../protocol/progress.ts";
import { inApiWords } from "./apiWords.ts";
import type { FileStore } from "./fileStore.ts";
import { type Method, settledMethod } from "./hyperparameters.ts";
import { resultFileId } from "./resultFile.ts";
import { type TuningJob, apiId, hasEnded, modelName, unixTime } from "./tuningJob.ts";

/** A job as OpenAI's `fine_tuning.job`. */
export function asJobObject(job: TuningJob, files: FileStore) {
  const { id, request, status, directory } = job;
  const { model, training_file, validation_file, seed, metadata } = request;
  let progress = NO_PROGRESS;
  let started: Record<string, number> = {};
  /** Time of the last event, which is also the end of a job whose process died. */
  let lastAt = job.createdAt;
  for (const { event, data, time = lastAt } of readLog(directory)) {
    progress = reduceProgress(progress, { event, data, at: Date.parse(time) });
    if (event === "training.started") started = numbersIn(data);
    lastAt = time;
  }
  const { tokens = NaN, epochs } = started;
  const trained = Math.round(tokens * (epochs ?? NaN));
  const isSucceeded = status === "succeeded";
  const remainingS = secondsLeft(progress.first, progress.last, progress.steps);
  const isEstimated = status === "running" && remainingS !== undefined && progress.last;
  const method = settledMethod(request.method, readJobConfig(directory) ?? {});
  return {
    object: "fine_tuning.job",
    id: apiId(id),
    model,
    created_at: unixTime(job.createdAt),
    // By the status: the log may have grown since.
    finished_at: hasEnded(job) ? unixTime(lastAt) : null,
    fine_tuned_model: isSucceeded ? modelName(job) : null,
    organization_id: "kit",
    result_files: isSucceeded ? [resultFileId(job)] : [],
    status,
    validation_file: validation_file ?? null,
    training_file,
    hyperparameters: method.type === "supervised" ? method.hyperparameters : undefined,
    trained_tokens: isSucceeded && Number.isFinite(trained) ? trained : null,
    error: status === "failed" ? errorOf(job, files) : null,
    integrations: [],
    seed,
    estimated_finish: isEstimated ? unixTime(progress.last!.at + remainingS * 1000) : null,
    metadata: metadata ?? null,
    method: asMethod(method),
  };
}

function asMethod({ type, hyperparameters }: Method): object {
  return { type, [type]: { hyperparameters } };
}

/** Why a job failed. */
export function errorOf(job: TuningJob, files: FileStore) {
  const { request, error = "", directory } = job;
  const param = (["validation_file", "training_file"] as const).find((name) =>
    error.includes(`${request[name]}/`),
  );
  const message = inRequestWords(error, job, files);
  if (param) return { code: `invalid_${param}`, message, param };
  const isGone = error === OWNER_GONE || error === OWNER_SILENT;
  if (!isGone) return { code: "training_failed", message, param: null };
  const advice = `Look at ${pathInProject(directory)}/output.log, then create it again.`;
  return { code: "training_died", message: `The job's process died. ${advice}`, param: null };
}

/** A text of a check or a training in the API's words. Names files as they were uploaded, and no paths. */
export function inRequestWords(text: string, { request }: TuningJob, files: FileStore): string {
  const { training_file, validation_file = training_file } = request;
  let words = inApiWords(text, request.method.type);
  for (const id of [training_file, validation_file]) {
    const path = files.contentPath(id);
    const name = () => files.recall(id)?.filename ?? id;
    words = words.replaceAll(path, name).replaceAll(pathInProject(path), name);
  }
  return withoutPaths(words);
}

/** A path in `.kit`, relative to the project. */
function pathInProject(path: string): string {
  return path.slice(path.lastIndexOf(join(".kit", "/")));
}

/** Shortens absolute paths to their last names, because clients may not learn them. */
function withoutPaths(text: string): string {
  return text.replaceAll(/(?<![\w.])(?:[A-Za-z]:)?(?:[\\/][^\\/\s:"']+)+/g, (path) =>
    basename(path),
  );
}
