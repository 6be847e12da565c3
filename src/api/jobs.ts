import {
  type JobResponse,
  type JobsResponse,
  ROUTES,
  RUN_HEADER,
  RUN_STATUS_HEADER,
} from "../../protocol/http.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { type Job, isJobStatus } from "../../protocol/job.ts";
import { RequestError, readResponse, request } from "./request.ts";

/** Without a limit, one request that hangs would stop the poll for good. */
const TIMEOUT_MS = 20_000;

/** The project's jobs, newest first, and its last run. */
export interface JobsList {
  jobs: readonly Job[];
  /**
   * Opaque: changes whenever the page's last training process, or its status, does; empty if there was none.
   */
  run: string;
}

/** The last response with an ETag. */
let lastTagged: { etag: string; list: JobsList } | undefined;

/**
 * The project's jobs: the same list as last time if the server says that nothing changed.
 * @throws RequestError
 */
export async function fetchJobs(): Promise<JobsList> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const response = await request(ROUTES.jobs, { signal });
  const etag = response.headers.get("etag");
  if (etag && etag === lastTagged?.etag) {
    // The browser's cached body would parse to the same jobs.
    void response.body?.cancel();
    return lastTagged.list;
  }
  const { jobs } = await readResponse(response, ROUTES.jobs, isJobsResponse);
  const [id, status] = [RUN_HEADER, RUN_STATUS_HEADER].map((name) => response.headers.get(name));
  const list = { jobs, run: id ? `${id} ${status}` : "" };
  lastTagged = etag ? { etag, list } : undefined;
  return list;
}

/**
 * A job; undefined if the project does not have it.
 * @throws RequestError
 */
export async function fetchJob(id: string): Promise<JobResponse | undefined> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const path = ROUTES.job(id);
  try {
    return await readResponse(await request(path, { signal }), path, isJob);
  } catch (error) {
    // No job has a malformed id.
    if (error instanceof RequestError && [400, 404].includes(error.status)) return undefined;
    throw error;
  }
}

function isJobsResponse(value: unknown): value is JobsResponse {
  return isRecord(value) && Array.isArray(value.jobs) && value.jobs.every(isJob);
}

function isJob(value: unknown): value is JobResponse {
  return (
    isRecord(value) &&
    typeof value.id === "string" &&
    typeof value.name === "string" &&
    typeof value.createdAt === "string" &&
    isJobStatus(value.status) &&
    (value.lastHeardAt === undefined || typeof value.lastHeardAt === "string") &&
    (value.progress === undefined || typeof value.progress === "number") &&
    (value.log === undefined ||
      (isRecord(value.log) &&
        [value.log.size, value.log.quietMs].every((item) => typeof item === "number")))
  );
}
