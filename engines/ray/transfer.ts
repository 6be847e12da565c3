import { createHash } from "node:crypto";
import { once } from "node:events";
import { createReadStream, createWriteStream, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { isRegularFile, makeDirectory, OTHERS_READ } from "../../disk/file.ts";
import { remove } from "../../disk/move.ts";
import { KitError, isKitError } from "../../protocol/error.ts";
import type { StoredCheckpoint } from "./messages.ts";

/** Attempts per file if the connection breaks. */
const MAX_ATTEMPTS = 3;

type Source = (name: string) => AsyncIterable<Buffer>;

interface TransferOptions {
  signal: AbortSignal;
  /** Receives the bytes downloaded so far. */
  onBytes: (bytes: number) => void;
}

interface WantedFile {
  name: string;
  size: number;
  sha256: string;
  path: string;
}

/** Prepares downloading files into a folder: keeps those that are complete there, and removes everything else. */
export async function openTransfer(
  folder: string,
  { files }: StoredCheckpoint,
  { signal, onBytes }: TransferOptions,
) {
  makeDirectory(folder);
  const wanted = Object.entries(files).map(([name, file]) => {
    return { name, ...file, path: join(folder, basename(name)) };
  });
  const complete: WantedFile[] = [];
  for (const path of readdirSync(folder).map((name) => join(folder, name))) {
    const file = wanted.find((candidate) => candidate.path === path);
    if (file && isRegularFile(path) && (await digestOf(path)) === file.sha256) complete.push(file);
    else remove(path);
  }
  const missing = wanted.filter((file) => !complete.includes(file));
  let doneBytes = bytesOf(complete);

  async function receive({ name, size, sha256, path }: WantedFile, source: Source): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      let bytes = doneBytes;
      const onChunk = (chunk: Buffer) => onBytes((bytes += chunk.length));
      try {
        const found = await save(upTo(size, source(name)), { path, signal, onChunk });
        if (found === sha256) break;
      } catch (error) {
        remove(path);
        if (!isConnectionLost(error) || attempt === MAX_ATTEMPTS) throw error;
        continue;
      }
      remove(path);
      throw damaged(name);
    }
    doneBytes += size;
  }

  /**
   * Downloads the missing files, one after another. Leaves only complete files, even if it rejects.
   * @throws KitError `CLUSTER_UNREACHABLE`, or a write error
   */
  async function download(source: Source): Promise<void> {
    for (const file of missing) await receive(file, source);
  }

  return { missing: missing.map(({ name }) => name), missingBytes: bytesOf(missing), download };
}

function bytesOf(files: readonly WantedFile[]): number {
  return files.reduce((sum, { size }) => sum + size, 0);
}

function isConnectionLost(error: unknown): boolean {
  return isKitError(error) && error.code === "CLUSTER_UNREACHABLE";
}

async function digestOf(path: string): Promise<string> {
  const digest = createHash("sha256");
  await pipeline(createReadStream(path), digest);
  return digest.digest("hex");
}

/** Reads at most one byte beyond the size, to detect a longer file. */
async function* upTo(size: number, source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let remaining = size + 1;
  for await (const chunk of source) {
    yield chunk.subarray(0, remaining);
    remaining -= chunk.length;
    if (remaining <= 0) return;
  }
}

interface SaveOptions {
  path: string;
  signal: AbortSignal;
  onChunk: (chunk: Buffer) => void;
}

/** @returns the SHA-256 of the written file */
async function save(source: AsyncIterable<Buffer>, { path, signal, onChunk }: SaveOptions) {
  const digest = createHash("sha256");
  async function* digested() {
    for await (const chunk of source) {
      digest.update(chunk);
      onChunk(chunk);
      yield chunk;
    }
  }
  const file = createWriteStream(path, { mode: OTHERS_READ, flush: true });
  try {
    await pipeline(digested, file, { signal });
  } finally {
    // A file that opens late would reappear after its removal.
    if (!file.closed) await once(file, "close");
  }
  return digest.digest("hex");
}

function damaged(name: string): KitError {
  return new KitError(
    "CLUSTER_UNREACHABLE",
    `${name} arrived damaged from the cluster. Try again: the checkpoint in its storage is intact.`,
  );
}
