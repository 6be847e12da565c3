import type { ServerResponse } from "node:http";
import type { ErrorResponse } from "../../protocol/http.ts";

/** Methods that a server accepts unless it says otherwise. */
export const METHODS = ["GET", "HEAD", "POST"];

/** A server's properties that the guard and its refusals use. */
export interface ServerIdentity {
  /** A sentence that says what to do instead: `Open the page at /.` */
  advice: string;
  /** The command that starts it: `kit ui` */
  command: string;
  /** The page's path, which links from other sites may open. */
  page?: string;
  /** Whether names in a path may contain encoded slashes. Default: false. */
  takesEncodedSlashes?: boolean;
  /** The methods that it accepts. Default: {@link METHODS}. */
  methods?: readonly string[];
  /** Builds an error's body. Default: `{ error }`. */
  errorBody?: (status: number, error: string) => object;
}

const CONTENT_SECURITY_POLICY = [
  "default-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "object-src 'none'",
].join("; ");

/** For every response, refusals included. */
export const SECURITY_HEADERS = {
  "Content-Security-Policy": CONTENT_SECURITY_POLICY,
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Resource-Policy": "same-origin",
};

/** How long a client may be silent before TCP probes it. */
const KEEP_ALIVE_MS = 15_000;

export const JSON_TYPE = "application/json; charset=utf-8";

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  sendText(response, status, JSON_TYPE, JSON.stringify(body));
}

export function sendError(
  response: ServerResponse,
  status: number,
  error: string,
  identity?: ServerIdentity,
): void {
  sendJson(response, status, errorBody(status, error, identity));
}

/** An error's body, as the server's clients read it. */
export function errorBody(status: number, error: string, identity?: ServerIdentity): object {
  return identity?.errorBody?.(status, error) ?? ({ error } satisfies ErrorResponse);
}

/** Like `sendError`, for a browser's address bar. */
export function sendErrorPage(response: ServerResponse, status: number, error: string): void {
  sendText(
    response,
    status,
    "text/html; charset=utf-8",
    `<!doctype html><html lang="en"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>Kit</title><h1>Kit</h1><p>${escapeHtml(error)}</p></html>`,
  );
}

/** Errors may quote the request. */
function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

export function sendText(
  response: ServerResponse,
  status: number,
  type: string,
  body: string,
): void {
  response.writeHead(status, {
    "Content-Type": type,
    "Content-Length": Buffer.byteLength(body),
    "Cache-Control": "no-store",
  });
  response.end(body);
}

/** A signal that aborts when the response is sent or the client is gone. */
export function closeSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  if (response.destroyed) controller.abort();
  response.once("close", () => controller.abort());
  return controller.signal;
}

/** Disables the idle timeout while the server computes; TCP keep-alive detects a lost client. */
export function disableTimeout(response: ServerResponse): void {
  response.socket?.setTimeout(0);
  response.socket?.setKeepAlive(true, KEEP_ALIVE_MS);
}

/** Writes a chunk and waits until the client can take more, or is gone. */
export async function writeChunk(response: ServerResponse, chunk: Buffer | string): Promise<void> {
  if (response.destroyed) return;
  const { socket } = response;
  // Uncorking sends it now, before other pending work.
  socket?.cork();
  const canTakeMore = response.write(chunk);
  socket?.uncork();
  if (canTakeMore) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      response.off("drain", done);
      response.off("close", done);
      resolve();
    };
    response.once("drain", done);
    response.once("close", done);
  });
}

export function setSecurityHeaders(response: ServerResponse): void {
  for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value);
}
