import type { Guard } from "../http/guard/guard.ts";
import { createRefusalDelay, isSameSecret } from "../http/guard/secret.ts";
import type { ConnectionLimit } from "../http/limits.ts";
import { targetOf } from "../http/target.ts";
import { ApiError, sendApiError } from "./apiError.ts";

/** Health checks need no key. */
const OPEN_PATH = "/health";

/** Admits requests with the key as their bearer token. */
export function createKeyAuth(key: string, trust: ConnectionLimit["trust"]): Guard {
  const delayRefusal = createRefusalDelay();
  return async (request, response) => {
    if (targetOf(request).path === OPEN_PATH) return true;
    const [, given] = /^bearer +(\S+) *$/i.exec(request.headers.authorization ?? "") ?? [];
    if (given !== undefined && isSameSecret(given, key)) {
      trust(request.socket);
      return true;
    }
    const isBusy = given !== undefined && !(await delayRefusal());
    response.setHeader("WWW-Authenticate", "Bearer");
    sendApiError(response, isBusy ? tooMany() : unauthorized(given !== undefined));
    return false;
  };
}

function unauthorized(hasKey: boolean): ApiError {
  const what = hasKey ? "a wrong key" : "no key";
  return new ApiError(
    401,
    `The request has ${what}. Send the server's key as the header "Authorization: Bearer <key>".`,
  );
}

function tooMany(): ApiError {
  return new ApiError(429, "Too many wrong keys at once. Wait a few seconds, then try again.", {
    retryAfterS: 5,
  });
}
