import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { sendJson, sendText } from "../../http/respond.ts";
import { targetOf } from "../../http/target.ts";
import { ApiError, invalid } from "../apiError.ts";
import type { FileObject } from "./fileStore.ts";
import type { FineTuning } from "./fineTuning.ts";
import { pageOf } from "./page.ts";
import { asResultFile, jobOfResultFile, resultContent } from "./resultFile.ts";
import { tuningRoute } from "./route.ts";
import { type TuningJob, apiId, hasEnded, readTuningJob } from "./tuningJob.ts";

const LIMITS = { limit: 10_000, maxLimit: 10_000 };

/** `POST /v1/files` */
const postFile = tuningRoute(async ({ upload }, { request, response }) => {
  const file = await upload(request, response);
  if (file) sendJson(response, 200, file);
});

/** `GET /v1/files` */
const getFiles = tuningRoute((tuning, { request, response }) => {
  const { query } = targetOf(request);
  const results = jobsOf(tuning).flatMap((job) => resultOf(job) ?? []);
  const purpose = query.get("purpose");
  const all = [...tuning.files.list(), ...results].filter(
    (file) => purpose === null || file.purpose === purpose,
  );
  const newestFirst = all.toSorted((a, b) => b.created_at - a.created_at);
  const ordered = query.get("order") === "asc" ? newestFirst.toReversed() : newestFirst;
  sendJson(response, 200, pageOf(ordered, query, LIMITS));
});

/** `GET /v1/files/{id}` */
const getFile = tuningRoute((tuning, { response }, id) => {
  const file = tuning.files.get(id) ?? resultOf(resultJob(tuning, id));
  if (!file) throw noFile();
  sendJson(response, 200, file);
});

/** `GET /v1/files/{id}/content` */
const getContent = tuningRoute(async ({ ...tuning }, { response }, id) => {
  const { files } = tuning;
  const file = files.get(id);
  if (file) {
    const headers = { "Content-Type": "application/octet-stream", "Cache-Control": "no-store" };
    response.writeHead(200, { ...headers, "Content-Length": file.bytes });
    return pipeline(createReadStream(files.contentPath(id)), response);
  }
  const job = resultJob(tuning, id);
  if (!job || !resultOf(job)) throw noFile();
  sendText(response, 200, "text/csv; charset=utf-8", resultContent(job));
});

/** `DELETE /v1/files/{id}` */
const deleteFile = tuningRoute((tuning, { response }, id) => {
  if (resultJob(tuning, id)) {
    throw invalid(
      "file_id",
      "A result file belongs to its job. Delete the job's folder in .kit/jobs.",
    );
  }
  if (!tuning.files.get(id)) throw noFile();
  const user = jobsOf(tuning).find(
    (job) =>
      !hasEnded(job) && [job.request.training_file, job.request.validation_file].includes(id),
  );
  if (user) {
    throw invalid(
      "file_id",
      `Job ${apiId(user.id)} needs this file. Cancel it, or wait for its end.`,
    );
  }
  tuning.files.remove(id);
  sendJson(response, 200, { id, object: "file", deleted: true });
});

export const FILE_ROUTES = {
  "POST /v1/files": postFile,
  "GET /v1/files": getFiles,
  "GET /v1/files/{id}": getFile,
  "GET /v1/files/{id}/content": getContent,
  "DELETE /v1/files/{id}": deleteFile,
};

function jobsOf({ jobs }: FineTuning): TuningJob[] {
  return jobs.list().flatMap(({ id }) => readTuningJob(jobs, id) ?? []);
}

function resultJob({ jobs }: FineTuning, file: string): TuningJob | undefined {
  const id = jobOfResultFile(file);
  return id === undefined ? undefined : readTuningJob(jobs, id);
}

/** Undefined until the job has succeeded. */
function resultOf(job: TuningJob | undefined): FileObject | undefined {
  return job?.status === "succeeded" ? asResultFile(job) : undefined;
}

function noFile(): ApiError {
  const message = "There is no file of this id. See GET /v1/files.";
  return new ApiError(404, message, { param: "file_id" });
}
