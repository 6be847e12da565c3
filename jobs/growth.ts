import { type FSWatcher, fstatSync, readSync, watch } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { READ_ITSELF } from "./file.ts";

/**
 * Correctness rests on this poll: `fs.watch` reports nothing on many mounts. Short enough for what
 * is written to reach a reader within 300 ms, on a busy machine too.
 */
export const POLL_MS = 200;
/** How much of a file's end is kept for those who follow it. */
const KEPT_BYTES = 64 * 1024;

/** A file that grows, looked at once for all who follow it. */
export interface GrowingFile {
  /** For what is not kept. */
  handle: FileHandle;
  /** What is known to come after a position, at its end nothing; undefined when it is not kept. */
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
export async function openGrowing(
  path: string,
  watching: boolean,
): Promise<GrowingFile | undefined> {
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
  let kept = Buffer.alloc(0);
  let end = fstatSync(handle.fd).size;
  let calls: (() => void)[] = [];

  function look(): void {
    const { size } = fstatSync(handle.fd);
    if (size <= end) return;
    // Of much at once only the end is kept; the rest is for each to read.
    const from = Math.max(end, size - KEPT_BYTES);
    const length = readSync(handle.fd, fresh, 0, size - from, from);
    const before = from > end ? kept.subarray(0, 0) : kept.subarray(length - KEPT_BYTES);
    kept = Buffer.concat([before, fresh.subarray(0, length)]);
    end = from + length;
  }

  function tick(): void {
    try {
      look();
    } catch {
      // Nothing is kept any more, so that each follower meets the error itself.
      kept = Buffer.alloc(0);
      end = NaN;
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
      const start = end - kept.length;
      return position >= start && position <= end ? kept.subarray(position - start) : undefined;
    },
    onTick: (call) => void calls.push(call),
    async close() {
      clearInterval(timer);
      watcher?.close();
      await handle.close();
    },
  };
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
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
