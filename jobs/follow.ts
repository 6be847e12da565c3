import { watch } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { READ_ITSELF } from "./file.ts";

/**
 * Correctness rests on this poll: `fs.watch` reports nothing on many mounts. Short enough for what
 * is written to reach a reader within 300 ms, on a busy machine too.
 */
const POLL_MS = 200;
const CHUNK_BYTES = 64 * 1024;

export interface FollowOptions {
  /** Byte offset to begin at. */
  from?: number;
  signal?: AbortSignal;
  /** Says that no more will be written; the follower then ends at the end of the file. */
  ended: () => boolean;
  /** Wakes sooner than the poll where the system can. For tests. */
  watching?: boolean;
}

/** The bytes of a file as they are written, from `from` until `ended` or `signal`. */
export async function* followFile(path: string, options: FollowOptions): AsyncGenerator<Buffer> {
  const { signal, ended, watching = true } = options;
  let position = options.from ?? 0;
  let file: FileHandle | undefined;
  const alarm = createAlarm(path, watching, signal);
  try {
    while (!signal?.aborted) {
      // Asked before reading: what was written before the end is still read.
      const isOver = ended();
      file ??= await openIfThere(path);
      for (;;) {
        if (signal?.aborted || !file) break;
        const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
        const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES, position);
        if (bytesRead === 0) break;
        position += bytesRead;
        yield chunk.subarray(0, bytesRead);
      }
      if (isOver) return;
      await alarm.next();
    }
  } finally {
    alarm.close();
    await file?.close();
  }
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

/** Rings when the file changed, after {@link POLL_MS}, or on abort, whichever is first. */
function createAlarm(path: string, watching: boolean, signal: AbortSignal | undefined) {
  let changed = false;
  let wake: (() => void) | undefined;
  const ring = () => {
    changed = true;
    wake?.();
  };
  const watcher = watching ? tryWatch(path, ring) : undefined;
  signal?.addEventListener("abort", ring);
  return {
    async next(): Promise<void> {
      if (!changed) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, POLL_MS);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      changed = false;
      wake = undefined;
    },
    close() {
      watcher?.close();
      signal?.removeEventListener("abort", ring);
    },
  };
}

function tryWatch(path: string, onChange: () => void) {
  try {
    const watcher = watch(path, { persistent: false }, onChange);
    // The poll goes on without it.
    watcher.on("error", () => watcher.close());
    return watcher;
  } catch {
    // The file is not there yet, or the system has no watches left: the poll goes on without.
    return undefined;
  }
}
