import type { IncomingMessage, ServerResponse } from "node:http";
import { type ServerIdentity, sendError, sendErrorPage } from "../respond.ts";
import { CHECKS } from "./checks.ts";
import { answerPreflight, isPreflight } from "./cors.ts";
import type { HostPolicy } from "./host.ts";

/** Answers requests that it refuses. Resolves with whether the request may proceed to its route. */
export type Guard = (request: IncomingMessage, response: ServerResponse) => Promise<boolean>;

/** @param auth checks a token or key; omit to require none */
export function createGuard(policy: HostPolicy, identity: ServerIdentity, auth?: Guard): Guard {
  return async (request, response) => {
    for (const check of CHECKS) {
      const refusal = check(request, policy, identity);
      if (!refusal) continue;
      for (const [name, value] of Object.entries(refusal.headers ?? {})) {
        response.setHeader(name, value);
      }
      const isPage = identity.page !== undefined && requestsPage(request);
      refuse(response, refusal.status, refusal.error, isPage, identity);
      return false;
    }
    if (isPreflight(request)) {
      answerPreflight(request, response, identity);
      return false;
    }
    return auth ? auth(request, response) : true;
  };
}

/** Whether a browser navigates here. Over plain HTTP, only this header says so. */
function requestsPage({ headers }: IncomingMessage): boolean {
  return headers.accept?.includes("text/html") === true;
}

export function refuse(
  response: ServerResponse,
  status: number,
  error: string,
  isPage: boolean,
  identity?: ServerIdentity,
): void {
  if (isPage) sendErrorPage(response, status, error);
  else sendError(response, status, error, identity);
}
