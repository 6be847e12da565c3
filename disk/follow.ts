import { type SharedTail, POLL_MS, openSharedTail } from "./sharedTail.ts";

const CHUNK_BYTES = 256 * 1024;

export interface FollowOptions {
  /** Byte offset to begin at. */
  from?: number;
  signal?: AbortSignal;
  /** Called before each `ended`: at the start, and whenever the file has grown or a poll has passed. */
  onTick?: () => void;
  /** Whether the writer has ended; the follower then stops at the end of the file. */
  ended: () => boolean;
}

/**
 * Yields the bytes of a file as they are written, from `from` until `ended` or `signal`.
 * @param openTail the file, if already open; the follower releases it
 */
export async function* tailFile(
  path: string,
  options: FollowOptions,
  openTail?: SharedTail,
): AsyncGenerator<Buffer> {
  const { signal, ended, onTick } = options;
  let position = options.from ?? 0;
  let file = openTail;
  let wake: (() => void) | undefined;
  const abort = () => wake?.();
  signal?.addEventListener("abort", abort);
  try {
    while (!signal?.aborted) {
      // Before reading, so that the writer's last bytes are still read.
      onTick?.();
      const hasEnded = ended();
      file ??= await openSharedTail(path);
      while (file && !signal?.aborted) {
        // Cached bytes may be older than the check above.
        const cached = hasEnded ? undefined : file.after(position);
        const chunk = cached ?? (await readAt(file, position));
        if (chunk.length === 0) break;
        position += chunk.length;
        yield chunk;
      }
      if (hasEnded) return;
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (signal?.aborted) resolve();
        else if (file) file.onTick(resolve);
        else setTimeout(resolve, POLL_MS);
      });
      // Without checking `ended`, which may read the disk.
      const newBytes = signal?.aborted ? undefined : file?.after(position);
      if (!newBytes?.length) continue;
      position += newBytes.length;
      yield newBytes;
    }
  } finally {
    signal?.removeEventListener("abort", abort);
    await file?.release();
  }
}

async function readAt({ handle }: SharedTail, position: number): Promise<Buffer> {
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  const { bytesRead } = await handle.read(chunk, 0, CHUNK_BYTES, position);
  return chunk.subarray(0, bytesRead);
}
