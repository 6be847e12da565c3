import { stampAt } from "../../disk/file.ts";
import { readJobIds } from "./plainList.ts";

/** Two changes of a folder within this time may leave it with the same time. */
const TICK_MS = 2_000;
/** On a mount that does not keep a folder's time right, changes are seen after this time. */
const TRUST_MS = 10_000;

/**
 * Returns the ids of all jobs, newest first, as `readJobIds` does: the same array as long as they
 * are the same. Rereads the folder only when its time has changed lately, and every
 * {@link TRUST_MS}.
 * @param root the folder of all jobs
 */
export function createJobFolders(
  root: string,
  now: () => number = () => performance.now(),
): () => readonly string[] {
  let ids: readonly string[] = [];
  let stamp: string | undefined;
  /** When the folder was first seen with its stamp, and when it was last read. */
  let firstSeen = 0;
  let lastRead = -Infinity;
  return () => {
    const at = now();
    const stampNow = stampAt(root);
    if (stampNow !== stamp) firstSeen = at;
    stamp = stampNow;
    const isSettled = lastRead - firstSeen > TICK_MS;
    if (isSettled && at - lastRead < TRUST_MS) return ids;
    const found = readJobIds(root);
    lastRead = at;
    if (!isSame(found, ids)) ids = found;
    return ids;
  };
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((id, n) => id === others[n]);
}
