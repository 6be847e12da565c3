import { createHmac, randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type Guard, refuse } from "./http/guard/guard.ts";
import { parseHost } from "./http/guard/host.ts";
import { createRefusalDelay, isSameSecret } from "./http/guard/secret.ts";
import type { ConnectionLimit } from "./http/limits.ts";
import { sendText } from "./http/respond.ts";
import { targetOf } from "./http/target.ts";

const TOKEN_BYTES = 24;

export const TOKEN_PARAMETER = "token";

const NO_TOKEN =
  "This page needs its token. Open the address that kit ui last printed, token included. To keep one token across restarts, set KIT_UI_TOKEN.";
const BUSY = "Too many wrong tokens at once. Wait a few seconds, then open the address again.";

export function createToken(): string {
  return randomBytes(TOKEN_BYTES).toString("base64url");
}

/** Admits clients that send the token: once in the URL, then as a cookie derived from it. */
export function createTokenAuth(token: string, trust: ConnectionLimit["trust"]): Guard {
  // Derived, so that a leaked cookie does not reveal the token.
  const secret = createHmac("sha256", token).update("kit ui cookie").digest("base64url");
  const delayRefusal = createRefusalDelay();

  return async (request, response) => {
    const { method, headers, socket } = request;
    const name = cookieName(headers.host);
    const cookies = cookiesNamed(name, headers.cookie);
    const hasCookie = cookies.some((value) => isSameSecret(value, secret));
    const { path, query } = targetOf(request);
    const given = query.get(TOKEN_PARAMETER);
    // Also with the cookie, so that no token stays in the address bar.
    const opensPage = hasCookie && method === "GET" && path === "/";
    const hasToken = given !== null && isSameSecret(given, token);
    if (hasCookie || hasToken) trust(socket);
    if (hasToken || (given !== null && opensPage)) {
      // Without a Path, browsers send it only to this page's folder, even behind a proxy's prefix.
      response.setHeader("Set-Cookie", `${name}=${secret}; HttpOnly; SameSite=Strict`);
      enterPage(request, response);
      return false;
    }
    if (hasCookie) return true;
    // A wrong cookie is a guess too.
    const isGuess = given !== null || cookies.length > 0;
    const isBusy = isGuess && !(await delayRefusal());
    refuse(response, isBusy ? 429 : 401, isBusy ? BUSY : NO_TOKEN, !path.startsWith("/api/"));
    return false;
  };
}

/** Redirects to the page without the token in its address. */
function enterPage({ headers }: IncomingMessage, response: ServerResponse): void {
  if (headers["sec-fetch-site"] === "cross-site" || headers["sec-fetch-site"] === "same-site") {
    // After a redirect, the browser would still count as cross-site and withhold the cookie.
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

/** Includes the port that the browser sees, because browsers share cookies across ports. */
function cookieName(host = ""): string {
  return `kit-ui-${parseHost(host)?.port || "default"}`;
}

function cookiesNamed(name: string, header = ""): string[] {
  return header
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
}
