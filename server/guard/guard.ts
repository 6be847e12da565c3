import type { IncomingMessage, ServerResponse } from "node:http";
import { sendError, sendErrorPage, sendText } from "../http/respond.ts";
import { targetOf } from "../http/target.ts";
import { CHECKS } from "./checks.ts";
import type { HostPolicy } from "./host.ts";
import type { TokenGate } from "./token.ts";

const NO_TOKEN =
  "This page needs its token. Open the address that kit ui last printed, token included. To keep one token across restarts, set KIT_UI_TOKEN.";
const BUSY = "Too many wrong tokens at once. Wait a few seconds, then open the address again.";

/** Answers requests that it refuses. Resolves with whether the request may go on to its route. */
export type Guard = (request: IncomingMessage, response: ServerResponse) => Promise<boolean>;

/** @param gate omit to require no token */
export function createGuard(policy: HostPolicy, gate?: TokenGate): Guard {
  return async (request, response) => {
    for (const check of CHECKS) {
      const refusal = check(request, policy);
      if (!refusal) continue;
      for (const [name, value] of Object.entries(refusal.headers ?? {})) {
        response.setHeader(name, value);
      }
      refuse(response, refusal.status, refusal.error, asksForPage(request));
      return false;
    }
    return gate ? passGate(gate, request, response) : true;
  };
}

async function passGate(
  gate: TokenGate,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  const admission = await gate.admit(request);
  switch (admission.state) {
    case "admitted":
      return true;
    case "welcome":
      response.setHeader("Set-Cookie", admission.cookie);
      enterPage(request, response);
      return false;
    case "refused": {
      const isPage = !targetOf(request).path.startsWith("/api/");
      refuse(response, admission.isBusy ? 429 : 401, admission.isBusy ? BUSY : NO_TOKEN, isPage);
      return false;
    }
  }
}

/** Redirects to the page without the token in its address. */
function enterPage({ headers }: IncomingMessage, response: ServerResponse): void {
  if (headers["sec-fetch-site"] === "cross-site" || headers["sec-fetch-site"] === "same-site") {
    // After a redirect the browser would still count as cross-site, and withhold the cookie.
    sendText(
      response,
      200,
      "text/html; charset=utf-8",
      '<!doctype html><title>Kit</title><meta http-equiv="refresh" content="0;url=./">',
    );
    return;
  }
  response.writeHead(303, { Location: "./", "Cache-Control": "no-store" }).end();
}

/** Whether a browser navigates here: over plain HTTP, it says so in this header alone. */
function asksForPage({ headers }: IncomingMessage): boolean {
  return headers.accept?.includes("text/html") === true;
}

function refuse(response: ServerResponse, status: number, error: string, isPage: boolean): void {
  if (isPage) sendErrorPage(response, status, error);
  else sendError(response, status, error);
}
