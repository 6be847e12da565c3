import type { IncomingMessage } from "node:http";

export interface Target {
  /** As sent, still percent-encoded. */
  path: string;
  query: URLSearchParams;
}

/** Visible ASCII after a single slash, without a fragment or a backslash. */
const WELL_FORMED = /^\/(?![/\\])[\x21\x22\x24-\x5b\x5d-\x7e]*$/;

export function targetOf({ url = "" }: IncomingMessage): Target {
  const [path = "", query] = url.split("?", 2);
  return { path, query: new URLSearchParams(query) };
}

/** Whether a target's path is unambiguous. Routes never see any other. */
export function isWellFormed(request: IncomingMessage, takesEncodedSlashes = false): boolean {
  return (
    WELL_FORMED.test(request.url ?? "") && isPlainPath(targetOf(request).path, takesEncodedSlashes)
  );
}

/** Whether decoding a path yields no dots, slashes or control characters that change its meaning. */
function isPlainPath(path: string, takesEncodedSlashes: boolean): boolean {
  let decoded: string;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    // Not UTF-8, or half an escape.
    return false;
  }
  const hasEncodedSlash = decoded.split("/").length !== path.split("/").length;
  if (hasEncodedSlash && !takesEncodedSlashes) return false;
  if (/[\x00-\x1f\x7f\\%]/.test(decoded)) return false;
  return !decoded.split("/").some((segment) => segment === "." || segment === "..");
}

/** The byte offset in a query or header to resume from; 0 for anything else. */
export function byteOffset(text: string | string[] | undefined): number {
  return typeof text === "string" && /^\d{1,15}$/.test(text) ? Number(text) : 0;
}
