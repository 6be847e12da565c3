import type { IncomingMessage, ServerResponse } from "node:http";
import { type Site, sendError, sendErrorPage } from "../respond.ts";
import { CHECKS } from "./checks.ts";
import { answerPreflight, isPreflight } from "./cors.ts";
import type { HostPolicy } from "./host.ts";

/** Answers requests that it refuses. Resolves with whether the request may go on to its route. */
export type Guard = (request: IncomingMessage, response: ServerResponse) => Promise<boolean>;

/** @param gate asks for a token; omit to require none */
export function createGuard(policy: HostPolicy, site: Site, gate?: Guard): Guard {
  return async (request, response) => {
    for (const check of CHECKS) {
      const refusal = check(request, policy, site);
      if (!refusal) continue;
      for (const [name, value] of Object.entries(refusal.headers ?? {})) {
        response.setHeader(name, value);
      }
      const isPage = site.page !== undefined && asksForPage(request);
      refuse(response, refusal.status, refusal.error, isPage, site);
      return false;
    }
    if (isPreflight(request)) {
      answerPreflight(request, response);
      return false;
    }
    return gate ? gate(request, response) : true;
  };
}

/** Whether a browser navigates here: over plain HTTP, it says so in this header alone. */
function asksForPage({ headers }: IncomingMessage): boolean {
  return headers.accept?.includes("text/html") === true;
}

export function refuse(
  response: ServerResponse,
  status: number,
  error: string,
  isPage: boolean,
  site?: Site,
): void {
  if (isPage) sendErrorPage(response, status, error);
  else sendError(response, status, error, site);
}
