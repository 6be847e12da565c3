import { ROUTES } from "../protocol/http.ts";
import type { Route } from "./context.ts";
import { getJobEvents } from "./routes/jobEvents.ts";
import { getJob, getJobs } from "./routes/jobs.ts";
import { getManifest } from "./routes/manifest.ts";
import { getTrain, postTrain } from "./routes/train.ts";

/** By method and path. */
export const ROUTE_TABLE: Record<string, Route> = {
  [`GET /${ROUTES.manifest}`]: getManifest,
  [`POST /${ROUTES.train}`]: postTrain,
  [`GET /${ROUTES.train}`]: getTrain,
  [`GET /${ROUTES.jobs}`]: getJobs,
  [`GET /${ROUTES.jobs}/{id}`]: getJob,
  [`GET /${ROUTES.jobs}/{id}/events`]: getJobEvents,
};
