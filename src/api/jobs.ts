import { type JobsResponse, ROUTES } from "../../protocol/http.ts";
import { type Job, isJobStatus } from "../../protocol/job.ts";
import { isRecord, requestJson } from "./request.ts";

/** Without a limit, one answer that never comes would stop the poll for good. */
const ANSWER_LIMIT_MS = 20_000;

/** @throws {RequestError} */
export async function fetchJobs(): Promise<Job[]> {
  const signal = AbortSignal.timeout(ANSWER_LIMIT_MS);
  return (await requestJson(ROUTES.jobs, isJobsResponse, { signal })).jobs;
}

function isJobsResponse(value: unknown): value is JobsResponse {
  return isRecord(value) && Array.isArray(value.jobs) && value.jobs.every(isJob);
}

function isJob(value: unknown): value is Job {
  return (
    isRecord(value) &&
    typeof value.id === "string" &&
    typeof value.name === "string" &&
    typeof value.createdAt === "string" &&
    isJobStatus(value.status)
  );
}
