import { type FSWatcher, fstatSync, readSync, watch } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { READ_ITSELF } from "./file.ts";

/**
 * Correctness rests on this poll: `fs.watch` reports nothing on many mounts. Short enough for what
 * is written to reach a reader within 300 ms, on a busy machine too.
 */
export const POLL_MS = 200;
/** How much of what is new is kept for those who follow. */
const KEPT_BYTES = 64 * 1024;
const NOTHING = Buffer.alloc(0);

/** A file that grows, looked at once for all who follow it. */
export interface GrowingFile {
  /** For what is not kept. */
  handle: FileHandle;
  /**
   * What the last look found after a position, at its end nothing; undefined when it is not kept.
   * The same buffer for all who are at the same position.
   */
  after: (position: number) => Buffer | undefined;
  /** Calls once, when the file has grown or {@link POLL_MS} have passed. */
  onTick: (call: () => void) => void;
  /** To be called once by who has opened it. */
  leave: () => Promise<void>;
}

interface Shared extends Omit<GrowingFile, "leave"> {
  followers: number;
  close: () => Promise<void>;
}

/** By what the file is on its disk: another one may have come to the same path. */
const growing = new Map<string, Shared>();

/** @returns nothing as long as there is no plain file at the path */
export async function openGrowing(path: string, watching = true): Promise<GrowingFile | undefined> {
  const handle = await openIfThere(path);
  if (!handle) return undefined;
  const { dev, ino } = fstatSync(handle.fd, { bigint: true });
  const key = `${dev} ${ino} ${watching}`;
  const known = growing.get(key);
  const shared = known ?? createShared(path, handle, watching);
  shared.followers++;
  growing.set(key, shared);
  if (known) await handle.close();
  return {
    ...shared,
    async leave() {
      if (--shared.followers > 0) return;
      growing.delete(key);
      await shared.close();
    },
  };
}

function createShared(path: string, handle: FileHandle, watching: boolean): Shared {
  const fresh = Buffer.allocUnsafe(KEPT_BYTES);
  let start = fstatSync(handle.fd).size;
  let kept = NOTHING;
  let calls: (() => void)[] = [];

  function look(): void {
    const end = start + kept.length;
    const length = readSync(handle.fd, fresh, 0, KEPT_BYTES, end);
    if (length === 0) return;
    // Much at once is for each to read.
    const isMuch = length === KEPT_BYTES;
    start = isMuch ? fstatSync(handle.fd).size : end;
    kept = isMuch ? NOTHING : Buffer.from(fresh.subarray(0, length));
  }

  function tick(): void {
    try {
      look();
    } catch {
      // Nothing is kept any more, so that each follower meets the error itself.
      start = NaN;
    }
    const now = calls;
    calls = [];
    for (const call of now) call();
  }

  const timer = setInterval(tick, POLL_MS);
  const watcher = watching ? tryWatch(path, tick) : undefined;
  return {
    followers: 0,
    handle,
    after(position) {
      if (position === start) return kept;
      const isKept = position > start && position <= start + kept.length;
      return isKept ? kept.subarray(position - start) : undefined;
    },
    onTick: (call) => void calls.push(call),
    async close() {
      clearInterval(timer);
      watcher?.close();
      await handle.close();
    },
  };
}

/** @returns nothing for what is no plain file, a link to one included */
export async function openIfThere(path: string): Promise<FileHandle | undefined> {
  let file: FileHandle;
  try {
    file = await open(path, READ_ITSELF);
  } catch (error) {
    // ELOOP: it is a link, and what that leads to is not ours.
    if (["ENOENT", "ELOOP"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
  if ((await file.stat()).isFile()) return file;
  await file.close();
  return undefined;
}

function tryWatch(path: string, onChange: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(path, { persistent: false }, onChange);
    // The poll goes on without it.
    watcher.on("error", () => watcher.close());
    return watcher;
  } catch {
    // The file is gone, or the system has no watches left: the poll goes on without.
    return undefined;
  }
}
