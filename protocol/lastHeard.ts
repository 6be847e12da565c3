import { formatAgo } from "./format.ts";

/** In words, of a job that nobody follows. Another machine's clock may be ahead. */
export function lastHeard(at: string, now = Date.now()): string {
  return `last heard of ${formatAgo(Math.max(0, now - Date.parse(at)))}`;
}
