import { type GrowingFile, POLL_MS, openGrowing } from "./growth.ts";

const CHUNK_BYTES = 256 * 1024;

export interface FollowOptions {
  /** Byte offset to begin at. */
  from?: number;
  signal?: AbortSignal;
  /** Says that no more will be written; the follower then ends at the end of the file. */
  ended: () => boolean;
}

/**
 * The bytes of a file as they are written, from `from` until `ended` or `signal`.
 * @param opened the file, where it is open already; it is left when this has ended
 */
export async function* followFile(
  path: string,
  options: FollowOptions,
  opened?: GrowingFile,
): AsyncGenerator<Buffer> {
  const { signal, ended } = options;
  let position = options.from ?? 0;
  let file = opened;
  let wake: (() => void) | undefined;
  const abort = () => wake?.();
  signal?.addEventListener("abort", abort);
  try {
    while (!signal?.aborted) {
      // Asked before reading: what was written before the end is still read.
      const isOver = ended();
      file ??= await openGrowing(path);
      while (file && !signal?.aborted) {
        // What is kept may be older than the answer above.
        const kept = isOver ? undefined : file.after(position);
        const chunk = kept ?? (await readAt(file, position));
        if (chunk.length === 0) break;
        position += chunk.length;
        yield chunk;
      }
      if (isOver) return;
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (signal?.aborted) resolve();
        else if (file) file.onTick(resolve);
        else setTimeout(resolve, POLL_MS);
      });
      // Goes on at once: whether more will come may take a look at the disk.
      const fresh = signal?.aborted ? undefined : file?.after(position);
      if (!fresh?.length) continue;
      position += fresh.length;
      yield fresh;
    }
  } finally {
    signal?.removeEventListener("abort", abort);
    await file?.leave();
  }
}

async function readAt({ handle }: GrowingFile, position: number): Promise<Buffer> {
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  const { bytesRead } = await handle.read(chunk, 0, CHUNK_BYTES, position);
  return chunk.subarray(0, bytesRead);
}
