import { ROUTES } from "../protocol/http.ts";
import type { Assets } from "./assets.ts";
import type { Exchange, Route, ServerContext } from "./context.ts";
import { sendError } from "./http/respond.ts";
import { targetOf } from "./http/target.ts";
import { getJobEvents } from "./routes/jobEvents.ts";
import { getJob, getJobs } from "./routes/jobs.ts";
import { getManifest } from "./routes/manifest.ts";
import { getTrain, postTrain } from "./routes/train.ts";

/** By method and path. `{id}` matches one segment of the path, which the route gets. */
export const ROUTE_TABLE: Record<string, Route> = {
  [`GET /${ROUTES.manifest}`]: getManifest,
  [`POST /${ROUTES.train}`]: postTrain,
  [`GET /${ROUTES.train}`]: getTrain,
  [`GET /${ROUTES.jobs}`]: getJobs,
  [`GET /${ROUTES.jobs}/{id}`]: getJob,
  [`GET /${ROUTES.jobs}/{id}/events`]: getJobEvents,
};

const routes = Object.entries(ROUTE_TABLE).map(([key, answer]) => {
  const [method = "", path = ""] = key.split(" ");
  return { method, pattern: new RegExp(`^${path.replace("{id}", "([^/]+)")}$`), answer };
});

/** Passes a request to its route, or sends one of the page's files. */
export async function route(
  context: ServerContext,
  assets: Assets,
  exchange: Exchange,
): Promise<void> {
  const { request, response } = exchange;
  const method = request.method ?? "GET";
  const { path } = targetOf(request);
  const here = routes.filter(({ pattern }) => pattern.test(path));
  const found = here.find((each) => each.method === method);
  if (found) return found.answer(context, exchange, found.pattern.exec(path)?.[1] ?? "");
  if ((method === "GET" || method === "HEAD") && assets.serve(path, response)) return;
  const allowed = assets.has(path) ? ["GET", "HEAD"] : here.map((each) => each.method);
  if (allowed.length > 0) {
    response.setHeader("Allow", allowed.join(", "));
    return sendError(response, 405, `Use ${allowed.join(" or ")} for ${path}.`);
  }
  sendError(response, 404, `There is nothing at ${path}. The page is at /.`);
}
