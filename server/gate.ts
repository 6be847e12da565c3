import type { IncomingMessage, ServerResponse } from "node:http";
import { type Guard, refuse } from "./http/guard/guard.ts";
import { sendText } from "./http/respond.ts";
import { targetOf } from "./http/target.ts";
import type { TokenGate } from "./token.ts";

const NO_TOKEN =
  "This page needs its token. Open the address that kit ui last printed, token included. To keep one token across restarts, set KIT_UI_TOKEN.";
const BUSY = "Too many wrong tokens at once. Wait a few seconds, then open the address again.";

/** Admits clients that have shown the token, and turns a token in the address into a cookie. */
export function createGate(tokens: TokenGate): Guard {
  return async (request, response) => {
    const admission = await tokens.admit(request);
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
  };
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
