import type { ServerResponse } from "node:http";
import type { ErrorResponse } from "../protocol/http.ts";

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  sendText(response, status, "application/json; charset=utf-8", JSON.stringify(body));
}

export function sendError(response: ServerResponse, status: number, error: string): void {
  const body: ErrorResponse = { error };
  sendJson(response, status, body);
}

/** As `sendError`, for a browser's address bar. */
export function sendErrorPage(response: ServerResponse, status: number, error: string): void {
  sendText(
    response,
    status,
    "text/html; charset=utf-8",
    `<!doctype html><html lang="en"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>Kit</title><h1>Kit</h1><p>${asHtml(error)}</p></html>`,
  );
}

/** Parts of an error may come from the request. */
function asHtml(text: string): string {
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
