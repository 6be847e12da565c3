import { ROUTES } from "../protocol/http.ts";
import type { Assets } from "./assets.ts";
import type { Exchange, ServerContext } from "./context.ts";
import { sendError } from "./respond.ts";
import { getJobEvents } from "./routes/jobEvents.ts";
import { getJobs } from "./routes/jobs.ts";
import { getManifest } from "./routes/manifest.ts";
import { getTrain, postTrain } from "./routes/train.ts";

const ROUTE_TABLE = {
  [`GET /${ROUTES.manifest}`]: getManifest,
  [`POST /${ROUTES.train}`]: postTrain,
  [`GET /${ROUTES.train}`]: getTrain,
  [`GET /${ROUTES.jobs}`]: getJobs,
};

const JOB_EVENTS = /^\/api\/jobs\/([^/]+)\/events$/;

/** Finds who answers a request. */
export async function route(
  context: ServerContext,
  assets: Assets,
  exchange: Exchange,
): Promise<void> {
  const { request, response } = exchange;
  const method = request.method ?? "GET";
  const path = (request.url ?? "/").split("?", 1)[0] ?? "/";
  const found = ROUTE_TABLE[`${method} ${path}`];
  if (found) return found(context, exchange);
  const jobId = JOB_EVENTS.exec(path)?.[1];
  if (jobId !== undefined && method === "GET") return getJobEvents(context, exchange, jobId);
  if ((method === "GET" || method === "HEAD") && assets.serve(path, response)) return;
  const allowed = assets.has(path) ? ["GET", "HEAD"] : methodsOf(path);
  if (allowed.length > 0) {
    response.setHeader("Allow", allowed.join(", "));
    return sendError(response, 405, `Use ${allowed.join(" or ")} for ${path}.`);
  }
  sendError(response, 404, `There is nothing at ${path}. The page is at /.`);
}

function methodsOf(path: string): string[] {
  if (JOB_EVENTS.test(path)) return ["GET"];
  return Object.keys(ROUTE_TABLE)
    .map((key) => key.split(" "))
    .flatMap(([method = "", known]) => (known === path ? [method] : []));
}
