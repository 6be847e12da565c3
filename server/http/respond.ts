import type { ServerResponse } from "node:http";
import type { ErrorResponse } from "../../protocol/http.ts";

/** What refusals say of a server. */
export interface ServerIdentity {
  /** What to do instead, as a sentence: `Open the page at /.` */
  advice: string;
  /** The command that starts it: `kit ui` */
  command: string;
  /** The path that links from other sites may open, if it has a page. */
  page?: string;
  /** Whether a path may have encoded slashes, which a route takes for a part of a name. Default: false. */
  takesEncodedSlashes?: boolean;
  /** Makes the body of an error. Default: `{ error }`. */
  errorBody?: (status: number, error: string) => object;
}

const CONTENT_SECURITY_POLICY = [
  "default-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "object-src 'none'",
].join("; ");

/** For every answer, refusals included. No CORS: no other origin needs access. */
export const SECURITY_HEADERS = {
  "Content-Security-Policy": CONTENT_SECURITY_POLICY,
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Resource-Policy": "same-origin",
};

/** How long a client may be silent before the system asks whether it is still there. */
const KEEP_ALIVE_MS = 15_000;

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  sendText(response, status, "application/json; charset=utf-8", JSON.stringify(body));
}

export function sendError(
  response: ServerResponse,
  status: number,
  error: string,
  identity?: ServerIdentity,
): void {
  sendJson(response, status, errorBody(status, error, identity));
}

/** The body of an error, in the form that the server's clients read. */
export function errorBody(status: number, error: string, identity?: ServerIdentity): object {
  return identity?.errorBody?.(status, error) ?? ({ error } satisfies ErrorResponse);
}

/** As `sendError`, for a browser's address bar. */
export function sendErrorPage(response: ServerResponse, status: number, error: string): void {
  sendText(
    response,
    status,
    "text/html; charset=utf-8",
    `<!doctype html><html lang="en"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>Kit</title><h1>Kit</h1><p>${escapeHtml(error)}</p></html>`,
  );
}

/** Parts of an error may come from the request. */
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

/** Aborted when the client has its answer or is gone. */
export function closeSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  if (response.destroyed) controller.abort();
  response.once("close", () => controller.abort());
  return controller.signal;
}

/**
 * Ends the limit of silence until the response is written to: it is for clients, and now the server works. Whether
 * the client is still there, the system asks it.
 */
export function disableTimeout(response: ServerResponse): void {
  response.socket?.setTimeout(0);
  response.socket?.setKeepAlive(true, KEEP_ALIVE_MS);
}

/** Writes a chunk and waits until the client can take more, or is gone. */
export async function writeChunk(response: ServerResponse, chunk: Buffer | string): Promise<void> {
  if (response.destroyed) return;
  const { socket } = response;
  // Without this, Node would send it only after all other pending work.
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
