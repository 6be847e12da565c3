import { createHmac, randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { parseHost } from "./http/guard/host.ts";
import { createLateRefusal, isSameSecret } from "./http/guard/secret.ts";
import { targetOf } from "./http/target.ts";

const TOKEN_BYTES = 24;

export const TOKEN_PARAMETER = "token";

/** `admitted`: has the cookie; `welcome`: has the token and gets the cookie. */
export type Admission =
  | { state: "admitted" }
  | { state: "welcome"; cookie: string }
  | { state: "refused"; isBusy: boolean };

export interface TokenGate {
  /** Resolves late for a wrong token, so that guessing is slow. */
  admit: (request: IncomingMessage) => Promise<Admission>;
}

export function createToken(): string {
  return randomBytes(TOKEN_BYTES).toString("base64url");
}

/**
 * Admits clients that send the token, in the URL once, then as a cookie derived from it.
 * @param onShown called with the connection of each request that has either
 */
export function createTokenGate(token: string, onShown?: (socket: Socket) => void): TokenGate {
  // Derived, so that a leaked cookie does not reveal the link.
  const secret = createHmac("sha256", token).update("kit ui cookie").digest("base64url");
  const refuseLate = createLateRefusal();

  return {
    async admit(request) {
      const { method, headers, socket } = request;
      const name = cookieName(headers.host);
      const cookies = cookiesNamed(name, headers.cookie);
      const isKnown = cookies.some((value) => isSameSecret(value, secret));
      const { path, query } = targetOf(request);
      const shown = query.get(TOKEN_PARAMETER);
      // Also with the cookie, so that no token, not even an old one, stays in the address bar.
      const toPage = isKnown && method === "GET" && path === "/";
      const isRight = shown !== null && isSameSecret(shown, token);
      if (isKnown || isRight) onShown?.(socket);
      if (isRight || (shown !== null && toPage)) {
        // Without a path, browsers send it to this page's folder only, also behind a proxy's prefix.
        return { state: "welcome", cookie: `${name}=${secret}; HttpOnly; SameSite=Strict` };
      }
      if (isKnown) return { state: "admitted" };
      // A wrong cookie is a guess too: it derives from the token alone.
      if (shown !== null || cookies.length > 0) {
        return { state: "refused", isBusy: !(await refuseLate()) };
      }
      return { state: "refused", isBusy: false };
    },
  };
}

/** Browsers share cookies across ports, so the name includes the port that the browser sees. */
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
