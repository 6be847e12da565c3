import { type FSWatcher, fstatSync, readSync, watch } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { READ_FLAGS, isFollowedLink } from "./file.ts";

/**
 * Correctness rests on this poll, because `fs.watch` reports nothing on many mounts. Short enough for new
 * bytes to reach a reader within 300 ms, even on a busy machine.
 */
export const POLL_MS = 200;
/** Limit of new bytes cached for all followers. */
const MAX_CACHED_BYTES = 64 * 1024;
const NOTHING = Buffer.alloc(0);

/** A growing file, read once for all followers. */
export interface SharedTail {
  /** For reading bytes that `after` has not cached. */
  handle: FileHandle;
  /**
   * The newest bytes after a position, empty at the end of the file; undefined when not cached. Followers at
   * the same position get the same buffer.
   */
  after: (position: number) => Buffer | undefined;
  /** Calls back once, when the file has grown or {@link POLL_MS} have passed. */
  onTick: (callback: () => void) => void;
  /** Every opener must call this once. */
  release: () => Promise<void>;
}

interface Shared extends Omit<SharedTail, "release"> {
  followers: number;
  close: () => Promise<void>;
}

/** By device and inode, because another file may have taken the same path. */
const openTails = new Map<string, Shared>();

/** @returns undefined until a regular file is at the path */
export async function openSharedTail(path: string): Promise<SharedTail | undefined> {
  const handle = await openRegularIfExists(path);
  if (!handle) return undefined;
  const { dev, ino } = fstatSync(handle.fd, { bigint: true });
  const key = `${dev} ${ino}`;
  const existing = openTails.get(key);
  const shared = existing ?? createShared(path, handle);
  shared.followers++;
  openTails.set(key, shared);
  if (existing) await handle.close();
  return {
    ...shared,
    async release() {
      if (--shared.followers > 0) return;
      openTails.delete(key);
      await shared.close();
    },
  };
}

function createShared(path: string, handle: FileHandle): Shared {
  const buffer = Buffer.allocUnsafe(MAX_CACHED_BYTES);
  let start = fstatSync(handle.fd).size;
  let cached = NOTHING;
  let callbacks: (() => void)[] = [];

  function readNew(): void {
    const end = start + cached.length;
    const length = readSync(handle.fd, buffer, 0, MAX_CACHED_BYTES, end);
    if (length === 0) return;
    // Followers read large additions themselves.
    const isLarge = length === MAX_CACHED_BYTES;
    start = isLarge ? fstatSync(handle.fd).size : end;
    cached = isLarge ? NOTHING : Buffer.from(buffer.subarray(0, length));
  }

  function tick(): void {
    try {
      readNew();
    } catch {
      // Stop caching, so that each follower meets the error itself.
      start = NaN;
    }
    const due = callbacks;
    callbacks = [];
    for (const callback of due) callback();
  }

  const timer = setInterval(tick, POLL_MS);
  const watcher = tryWatch(path, tick);
  return {
    followers: 0,
    handle,
    after(position) {
      if (position === start) return cached;
      const isCached = position > start && position <= start + cached.length;
      return isCached ? cached.subarray(position - start) : undefined;
    },
    onTick: (callback) => void callbacks.push(callback),
    async close() {
      clearInterval(timer);
      watcher?.close();
      await handle.close();
    },
  };
}

/** @returns undefined unless the path is a regular file, not a link to one */
export async function openRegularIfExists(path: string): Promise<FileHandle | undefined> {
  let file: FileHandle;
  if (isFollowedLink(path)) return undefined;
  try {
    file = await open(path, READ_FLAGS);
  } catch (error) {
    // ELOOP: a link, which could lead out of `.kit`.
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
    // The poll continues without it.
    watcher.on("error", () => watcher.close());
    return watcher;
  } catch {
    // The file is gone, or the system has no watches left; the poll continues.
    return undefined;
  }
}
