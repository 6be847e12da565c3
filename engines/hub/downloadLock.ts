import { mkdirSync, utimesSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { takeLock } from "../../disk/lock.ts";

const POLL_MS = 200;
/** A holder in another container loses its lock without a sign of life. */
const BEAT_EVERY_MS = 1_000;

export interface DownloadLock {
  /** Shows that the download goes on. */
  beat: () => void;
  release: () => void;
}

/**
 * Waits for the lock of a file, so that one process at a time downloads it.
 * @param onWait is called once if another process has it
 */
export async function lockDownload(
  path: string,
  { signal, onWait }: { signal: AbortSignal; onWait: () => void },
): Promise<DownloadLock> {
  mkdirSync(dirname(path), { recursive: true });
  let release = await takeLock(path, 0);
  if (!release) onWait();
  while (!release) {
    await delay(POLL_MS, undefined, { signal });
    release = await takeLock(path, 0);
  }
  let beatAt = performance.now();
  function beat(): void {
    if (performance.now() - beatAt < BEAT_EVERY_MS) return;
    beatAt = performance.now();
    const now = new Date();
    utimesSync(path, now, now);
  }
  return { beat, release };
}
