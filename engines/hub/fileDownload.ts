import { createHash } from "node:crypto";
import { constants, createReadStream, lstatSync } from "node:fs";
import { open } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { setTimeout as delay } from "node:timers/promises";
import { remove } from "../../disk/move.ts";
import { isKitError } from "../../protocol/error.ts";
import { sizeOf } from "./hubCache.ts";
import { type HubFile, isLarge, unexpectedResponse } from "./hubListing.ts";
import { type HubRequest, fetchFromHub, unreachable } from "./hubRequest.ts";

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_TRUNC, O_WRONLY } = constants;

/** Consecutive attempts without progress. */
export const MAX_FAILURES = 5;
export const FIRST_PAUSE_MS = 250;

export interface FileDownload extends HubRequest {
  url: string;
  file: HubFile;
  /** The partial file. */
  path: string;
  /** Called with the number of bytes on disk. */
  onBytes: (bytes: number) => void;
}

/**
 * Downloads a file and checks its hash. Resumes from the bytes on disk, also after a broken connection,
 * and keeps them on failure.
 * @throws KitError `HUB_UNREACHABLE`, `HUB_INVALID`, `MODEL_REFUSED` or `MODEL_UNKNOWN`
 */
export async function downloadFile(download: FileDownload): Promise<void> {
  const { file, path, signal } = download;
  // In a shared cache, another user's link could point to files that Kit must not write.
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile() === false) remove(path);
  const isResumed = sizeOf(path) > 0;
  await downloadWithRetries(download);
  signal.throwIfAborted();
  if ((await hashOf(path, file.size, isLarge(file))) === file.hash) return;
  remove(path);
  // The resumed bytes may have been damaged.
  if (isResumed) return downloadFile(download);
  throw unexpectedResponse(download, `sent a ${file.name} that doesn't match its listed hash`);
}

async function downloadWithRetries(download: FileDownload): Promise<void> {
  const { file, path, signal } = download;
  for (let failures = 0; ;) {
    const offset = sizeOf(path);
    if (offset === file.size && offset > 0) return;
    try {
      return await downloadRest(download, offset < file.size ? offset : 0);
    } catch (error) {
      if (!isKitError(error) || error.code !== "HUB_UNREACHABLE") throw error;
      failures = sizeOf(path) > offset ? 1 : failures + 1;
      if (failures === MAX_FAILURES) throw error;
      await delay(FIRST_PAUSE_MS * 2 ** (failures - 1), undefined, { signal });
    }
  }
}

/** Appends the bytes after `offset`, or rewrites the file if the server ignores the range. */
async function downloadRest(download: FileDownload, offset: number): Promise<void> {
  const { url, file, path, onBytes } = download;
  const request = { ...download, offset };
  const { isPartial, chunks } = await fetchFromHub(url, request);
  const output = await open(
    path,
    O_WRONLY | O_CREAT | O_NOFOLLOW | (isPartial ? O_APPEND : O_TRUNC),
  );
  try {
    let bytes = isPartial ? offset : 0;
    for await (const chunk of chunks()) {
      bytes += chunk.length;
      if (bytes > file.size)
        throw unexpectedResponse(download, `sent more bytes of ${file.name} than it lists`);
      await output.appendFile(chunk);
      onBytes(bytes);
    }
    if (bytes < file.size) throw unreachable(request, new Error(`${file.name} was truncated`));
    // Flush before the rename.
    await output.sync();
  } finally {
    await output.close();
  }
}

/** A file's hash as the hub computes it: SHA-256, or git's blob hash for a small file. */
export async function hashOf(path: string, size: number, isLarge: boolean): Promise<string> {
  const digest = isLarge ? createHash("sha256") : createHash("sha1").update(`blob ${size}\0`);
  await pipeline(createReadStream(path), digest);
  return digest.digest("hex");
}
