import type { IncomingMessage, ServerResponse } from "node:http";
import { type ServerIdentity, sendError } from "./respond.ts";
import { targetOf } from "./target.ts";

export interface RequestContext {
  request: IncomingMessage;
  response: ServerResponse;
}

/** Handles a request. `id` is the path's `{id}` or `{path}`; empty without one. */
export type Route<Context> = (
  context: Context,
  exchange: RequestContext,
  id: string,
) => void | Promise<void>;

/** Static files of a server. */
export interface Files {
  has: (path: string) => boolean;
  /** Sends the file at this path, or returns false. */
  serve: (path: string, response: ServerResponse) => boolean;
}

const NO_FILES: Files = { has: () => false, serve: () => false };

/**
 * Passes each request to its route, or sends a file.
 * @param table routes by method and path: `GET /api/jobs/{id}`. `{id}` matches one segment, `{path}` one or more
 */
export function createRouter<Context>(
  table: Record<string, Route<Context>>,
  identity: ServerIdentity,
  files: Files = NO_FILES,
): (context: Context, exchange: RequestContext) => Promise<void> {
  const routes = Object.entries(table).map(([key, answer]) => {
    const [method = "", path = ""] = key.split(" ");
    const pattern = path.replace("{id}", "([^/]+)").replace("{path}", "(.+)");
    return { method, pattern: new RegExp(`^${pattern}$`), answer };
  });
  return async (context, exchange) => {
    const { request, response } = exchange;
    const method = request.method ?? "GET";
    const { path } = targetOf(request);
    const matching = routes.filter(({ pattern }) => pattern.test(path));
    const route = matching.find((candidate) => candidate.method === method);
    if (route) return route.answer(context, exchange, route.pattern.exec(path)?.[1] ?? "");
    if ((method === "GET" || method === "HEAD") && files.serve(path, response)) return;
    const methods = matching.map((candidate) => candidate.method);
    const allowed = files.has(path) ? ["GET", "HEAD"] : methods;
    if (allowed.length > 0) {
      response.setHeader("Allow", allowed.join(", "));
      return sendError(response, 405, `Use ${allowed.join(" or ")} for ${path}.`, identity);
    }
    sendError(response, 404, `There is nothing at ${path}. ${identity.advice}`, identity);
  };
}
