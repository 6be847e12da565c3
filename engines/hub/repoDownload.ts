import { existsSync, mkdirSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { takeLock } from "../../disk/lock.ts";
import { move } from "../../disk/move.ts";
import { canStore } from "../../disk/windowsName.ts";
import { KitError } from "../../protocol/error.ts";
import { downloadFile } from "./fileDownload.ts";
import { type HubCache, sizeOf } from "./hubCache.ts";
import type { HubFile } from "./hubListing.ts";
import type { HubRequest } from "./hubRequest.ts";
import { createTransferNotes, megabytes } from "./transferNotes.ts";

/** Downloads files of a commit to the cache. */
export function createDownloader(
  request: HubRequest,
  commit: string,
  cache: HubCache,
  onNote: (text: string) => void,
) {
  const { settings, name } = request;
  const { repo, repoType } = name;
  const directory = cache.snapshotPath(commit);

  /** Whether a file isn't in the cache. If it is there from another commit, links it. */
  function needsDownload(file: HubFile): boolean {
    assertStorable(file);
    if (hasSize(join(directory, file.name), file)) return false;
    if (!hasSize(cache.blobPath(file.hash), file)) return true;
    cache.link(commit, file.name, file.hash);
    return false;
  }

  /** @throws KitError `CANNOT_WRITE` */
  function assertStorable(file: HubFile): void {
    if (file.name.split("/").every(canStore)) return;
    throw new KitError(
      "CANNOT_WRITE",
      `Windows can't store ${file.name} of ${repo}. Download it under another name, or use WSL.`,
    );
  }

  async function fetchAll(files: HubFile[], onBytes: (bytes: number) => void): Promise<void> {
    let completed = 0;
    for (const file of files) {
      await fetchFile(file, (bytes) => onBytes(completed + bytes));
      completed += file.size;
    }
  }

  async function fetchFile(file: HubFile, onBytes: (bytes: number) => void): Promise<void> {
    const { hash } = file;
    const [blob, path] = [cache.blobPath(hash), cache.partialPath(hash)];
    const prefix = repoType === "dataset" ? "datasets/" : "";
    const encoded = file.name.split("/").map(encodeURIComponent).join("/");
    const url = `${settings.endpoint}/${prefix}${repo}/resolve/${commit}/${encoded}`;
    const onWait = () => onNote(`waiting for another process to download ${repo}`);
    const lockPath = cache.lockPath(hash);
    mkdirSync(dirname(lockPath), { recursive: true });
    const lock = await takeLock(lockPath, Infinity, { signal: request.signal, onWait });
    try {
      cache.makeBlobsFolder();
      if (!hasSize(blob, file)) {
        await downloadFile({ ...request, url, file, path, onBytes });
        move(path, blob);
      }
      cache.link(commit, file.name, hash);
    } finally {
      lock?.release();
    }
  }

  async function assertDiskSpace(files: HubFile[]): Promise<void> {
    const bytes = files.reduce(
      (sum, { size, hash }) => sum + size - sizeOf(cache.partialPath(hash)),
      0,
    );
    cache.makeBlobsFolder();
    const { bavail, bsize } = await statfs(dirname(cache.blobPath("")));
    if (bytes <= bavail * bsize) return;
    throw new KitError(
      "CANNOT_WRITE",
      `${repo} takes ${megabytes(bytes)}, but ${settings.cache} has ${megabytes(bavail * bsize)} free. Free disk space, or set HF_HUB_CACHE to a folder on a larger disk.`,
    );
  }

  return {
    /** Downloads small files, without reporting progress. */
    async fetch(files: HubFile[]): Promise<void> {
      await fetchAll(files.filter(needsDownload), () => undefined);
    },

    /** Downloads large files, and reports progress. @throws KitError `CANNOT_WRITE` if they don't fit */
    async fetchLarge(files: HubFile[]): Promise<void> {
      const missing = files.filter(needsDownload);
      if (missing.length === 0) return;
      await assertDiskSpace(missing);
      const totalBytes = missing.reduce((sum, { size }) => sum + size, 0);
      await fetchAll(missing, createTransferNotes(`downloading ${repo}`, totalBytes, onNote));
    },
  };
}

/** Whether a file has its full size: after a power loss, it may not. */
export function hasSize(path: string, { size }: HubFile): boolean {
  return existsSync(path) && sizeOf(path) === size;
}
