import { isLoopback } from "../../protocol/loopback.ts";
import { type Http, createHttp } from "./http.ts";
import { isOlder, readVersion } from "./version.ts";

/** What a web page can do to a Ray older than a version. */
const HARMS = [
  { before: [2, 52], harm: "run code there (CVE-2025-62593)" },
  { before: [2, 54], harm: "delete its jobs (CVE-2026-27482)" },
] as const;

/** Ends a sentence that asks for a newer Ray; empty for one that has no such flaw. */
export function vulnerabilitiesOf(version: string): string {
  const harms = HARMS.filter(({ before }) => isOlder(version, before)).map(({ harm }) => harm);
  if (harms.length === 0) return "";
  return `: through the browser of somebody who reaches it, a web page can ${harms.join(" and ")}`;
}

/**
 * Returns a warning if a cluster answers without a token at an address that others reach, too. An
 * address of this machine alone may be a tunnel's end: Kit can't see what is behind it.
 */
export async function openClusterWarning(
  address: string,
  signal?: AbortSignal,
): Promise<string | undefined> {
  if (isLoopback(new URL(address).hostname.replace(/^\[|\]$/g, ""))) return undefined;
  if (!(await answers(createHttp(address, undefined), signal))) return undefined;
  return `warning: the Ray cluster at ${address} answers without a token, so whoever reaches it can run code there, and web pages have reached such clusters through a browser (CVE-2025-62593, CVE-2026-27482). Start Ray with RAY_AUTH_MODE=token, or let nothing but a tunnel reach its dashboard.`;
}

async function answers(http: Http, signal?: AbortSignal): Promise<boolean> {
  try {
    return (await readVersion(http, signal)).version !== undefined;
  } catch {
    // It asks for a token, or the signal was aborted.
    signal?.throwIfAborted();
    return false;
  }
}
