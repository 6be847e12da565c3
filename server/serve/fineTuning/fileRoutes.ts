import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { sendJson } from "../../http/respond.ts";
import { targetOf } from "../../http/target.ts";
import { ApiError, invalid } from "../apiError.ts";
import type { FileObject, FileStore } from "./fileStore.ts";
import { pageOf } from "./page.ts";
import { tuningRoute } from "./route.ts";
import { apiId, hasEnded, readTuningJobs } from "./tuningJob.ts";

const LIMITS = { limit: 10_000, maxLimit: 10_000 };

/** `POST /v1/files` */
const postFile = tuningRoute(async ({ upload }, { request, response }) => {
  const file = await upload(request, response);
  if (file) sendJson(response, 200, file);
});

/** `GET /v1/files` */
const getFiles = tuningRoute(({ files }, { request, response }) => {
  const { query } = targetOf(request);
  const purpose = query.get("purpose");
  const matching = files.list().filter((file) => purpose === null || file.purpose === purpose);
  const order = query.get("order") ?? "desc";
  if (order !== "asc" && order !== "desc") throw invalid("order", "order must be asc or desc.");
  const ordered = order === "asc" ? matching.toReversed() : matching;
  const isShown = (id: string) => files.get(id) !== undefined;
  sendJson(response, 200, pageOf(ordered, query, { ...LIMITS, isShown }));
});

/** `GET /v1/files/{id}` */
const getFile = tuningRoute(({ files }, { response }, id) => {
  sendJson(response, 200, fileOf(files, id));
});

/** `GET /v1/files/{id}/content` */
const getContent = tuningRoute(async ({ files }, { response }, id) => {
  const { bytes } = fileOf(files, id);
  response.writeHead(200, {
    "Content-Type": "application/octet-stream",
    "Content-Length": bytes,
    "Cache-Control": "no-store",
  });
  await pipeline(createReadStream(files.contentPath(id)), response);
});

/** `DELETE /v1/files/{id}` */
const deleteFile = tuningRoute(({ files, jobs }, { response }, id) => {
  fileOf(files, id);
  const usingJob = readTuningJobs(jobs).find(
    ({ request: { training_file, validation_file }, ...job }) =>
      [training_file, validation_file].includes(id) && !hasEnded(job),
  );
  if (usingJob) {
    const job = apiId(usingJob.id);
    throw invalid("file_id", `Job ${job} needs this file. Cancel it, or wait for its end.`);
  }
  files.remove(id);
  sendJson(response, 200, { id, object: "file", deleted: true });
});

export const FILE_ROUTES = {
  "POST /v1/files": postFile,
  "GET /v1/files": getFiles,
  "GET /v1/files/{id}": getFile,
  "GET /v1/files/{id}/content": getContent,
  "DELETE /v1/files/{id}": deleteFile,
};

/** @throws ApiError 404 */
function fileOf(files: FileStore, id: string): FileObject {
  const file = files.get(id);
  if (file) return file;
  const message = "There is no file of this id. See GET /v1/files.";
  throw new ApiError(404, message, { param: "file_id" });
}
