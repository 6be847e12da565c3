import { setTimeout as delay } from "node:timers/promises";
import { cancelJob, planJob } from "../../../jobs/plannedJob.ts";
import { sendJson } from "../../http/respond.ts";
import { targetOf } from "../../http/target.ts";
import { ApiError } from "../apiError.ts";
import { readJsonBody } from "../jsonBody.ts";
import type { ModelPool } from "../modelPool.ts";
import { checkpointsOf } from "./checkpoints.ts";
import type { FineTuning } from "./fineTuning.ts";
import { eventsOf } from "./jobEvents.ts";
import { asJobObject } from "./jobObject.ts";
import { jobRequest, trainerOf } from "./jobRequest.ts";
import { pageOf } from "./page.ts";
import { tuningRoute } from "./route.ts";
import {
  type TuningJob,
  apiId,
  hasEnded,
  kitId,
  readTuningJob,
  readTuningJobs,
} from "./tuningJob.ts";

/** How long a job's process may take to cancel it before the response: a step or more. */
const CANCEL_MS = 15_000;
const POLL_MS = 100;
const MAX_LIMIT = 100;

/** `POST /v1/fine_tuning/jobs` */
const postJob = tuningRoute(async (tuning, { request, response }, _, { models, bodies }) => {
  const body = await readJsonBody(bodies, request, response);
  if (!body) return;
  const { files, project, trainingRuns } = tuning;
  const parsed = jobRequest(body, files);
  const base = baseOf(models, parsed.model);
  const trainer = trainerOf(parsed, base, (id) => ({ type: "jsonl", path: files.contentPath(id) }));
  const { id } = planJob(project, { name: trainer.name, trainer, request: { ...parsed } });
  void trainingRuns.update();
  sendJson(response, 200, asJobObject(jobOf(tuning, apiId(id)), files));
});

// These routes read a job before they update: then each model in a response is served.

/** `GET /v1/fine_tuning/jobs` */
const getJobs = tuningRoute(async ({ files, jobs, trainingRuns }, { request, response }) => {
  const { query } = targetOf(request);
  const matching = readTuningJobs(jobs).filter((job) => hasMetadata(job, query));
  await trainingRuns.update();
  const items = matching.map((job) => ({ id: apiId(job.id), job }));
  const page = pageOf(items, query, { limit: 20, maxLimit: MAX_LIMIT });
  sendJson(response, 200, { ...page, data: page.data.map(({ job }) => asJobObject(job, files)) });
});

/** `GET /v1/fine_tuning/jobs/{id}` */
const getJob = tuningRoute(async (tuning, { response }, id) => {
  const job = jobOf(tuning, id);
  await tuning.trainingRuns.update();
  sendJson(response, 200, asJobObject(job, tuning.files));
});

/** `POST /v1/fine_tuning/jobs/{id}/cancel` */
const postCancel = tuningRoute(async (tuning, { response }, id) => {
  const job = jobOf(tuning, id);
  if (hasEnded(job)) {
    throw new ApiError(400, `Job ${id} has ended already: ${job.status}.`);
  }
  await cancelJob(job.directory);
  const deadline = performance.now() + CANCEL_MS;
  while (!hasEnded(jobOf(tuning, id)) && performance.now() < deadline) await delay(POLL_MS);
  void tuning.trainingRuns.update();
  sendJson(response, 200, asJobObject(jobOf(tuning, id), tuning.files));
});

/** `GET /v1/fine_tuning/jobs/{id}/events` */
const getEvents = tuningRoute(async (tuning, { request, response }, id) => {
  const events = eventsOf(jobOf(tuning, id), tuning.files);
  await tuning.trainingRuns.update();
  const limits = { limit: 20, maxLimit: MAX_LIMIT };
  sendJson(response, 200, pageOf(events, targetOf(request).query, limits));
});

/** `GET /v1/fine_tuning/jobs/{id}/checkpoints` */
const getCheckpoints = tuningRoute(async (tuning, { request, response }, id) => {
  const checkpoints = checkpointsOf(jobOf(tuning, id));
  await tuning.trainingRuns.update();
  const limits = { limit: 10, maxLimit: MAX_LIMIT };
  sendJson(response, 200, pageOf(checkpoints, targetOf(request).query, limits));
});

/** `POST /v1/fine_tuning/jobs/{id}/pause` and `/resume`: in Kit, a resumed job is another job. */
const postPause = tuningRoute((tuning, _, id) => {
  jobOf(tuning, id);
  const message =
    "kit serve can't pause a job. Cancel it: its checkpoints stay, and you can fine-tune one further, by its name as model.";
  throw new ApiError(400, message);
});

export const JOB_ROUTES = {
  "POST /v1/fine_tuning/jobs": postJob,
  "GET /v1/fine_tuning/jobs": getJobs,
  "GET /v1/fine_tuning/jobs/{id}": getJob,
  "POST /v1/fine_tuning/jobs/{id}/cancel": postCancel,
  "POST /v1/fine_tuning/jobs/{id}/pause": postPause,
  "POST /v1/fine_tuning/jobs/{id}/resume": postPause,
  "GET /v1/fine_tuning/jobs/{id}/events": getEvents,
  "GET /v1/fine_tuning/jobs/{id}/checkpoints": getCheckpoints,
};

/** @throws ApiError 404 */
function jobOf({ jobs }: FineTuning, id: string): TuningJob {
  const job = readTuningJob(jobs, kitId(id));
  if (job) return job;
  const message = "There is no fine-tuning job of this id. See GET /v1/fine_tuning/jobs.";
  throw new ApiError(404, message, { param: "fine_tuning_job_id" });
}

/** The served model that a job starts from, as `createTrainer` names it. */
function baseOf(models: ModelPool, name: string): string {
  const served = models.names().find((model) => model.name === name)?.served;
  const source = served?.source?.();
  if (source !== undefined) return source;
  const quotedName = JSON.stringify(name.slice(0, 100));
  const message = served
    ? `The model ${quotedName} can't be fine-tuned, because it has no weights yet. Send another name that GET /v1/models lists.`
    : `The model ${quotedName} is not served here. Send a name that GET /v1/models lists, or have kit serve started with --alias ${quotedName}=<model>.`;
  throw new ApiError(400, message, { param: "model", code: "model_not_found" });
}

/** Whether a job has all pairs of `metadata[key]=value`; none, if a query has `metadata=null`. */
function hasMetadata({ request: { metadata } }: TuningJob, query: URLSearchParams): boolean {
  return [...query].every(([name, value]) => {
    if (name === "metadata" && ["", "null"].includes(value)) return metadata === undefined;
    const [, key] = /^metadata\[(.+)\]$/.exec(name) ?? [];
    return key === undefined || metadata?.[key] === value;
  });
}
