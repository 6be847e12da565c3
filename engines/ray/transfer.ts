import { createHash } from "node:crypto";
import { once } from "node:events";
import { createReadStream, createWriteStream, readdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { isRegularFile, makeDirectory, OTHERS_READ } from "../../disk/file.ts";
import { KitError, isKitError } from "../../protocol/error.ts";
import type { StoredCheckpoint } from "./messages.ts";

/** Attempts at a file whose connection breaks. */
const MAX_ATTEMPTS = 3;

/** Reads a file by its name. */
type Source = (name: string) => AsyncIterable<Buffer>;

interface TransferOptions {
  signal: AbortSignal;
  /** Takes the bytes received so far. */
  onBytes: (bytes: number) => void;
}

interface WantedFile {
  name: string;
  size: number;
  sha256: string;
  to: string;
}

/** Files on their way to a folder. Begins with those that are whole there, and removes what else is. */
export async function openTransfer(
  folder: string,
  { files }: StoredCheckpoint,
  { signal, onBytes }: TransferOptions,
) {
  makeDirectory(folder);
  const wanted = Object.entries(files).map(([name, file]) => {
    return { name, ...file, to: join(folder, basename(name)) };
  });
  const whole: WantedFile[] = [];
  for (const path of readdirSync(folder).map((name) => join(folder, name))) {
    const file = wanted.find(({ to }) => to === path);
    if (file && isRegularFile(path) && (await digestOf(path)) === file.sha256) whole.push(file);
    else rmSync(path, { recursive: true });
  }
  const missing = wanted.filter((file) => !whole.includes(file));
  let done = bytesOf(whole);

  async function receive({ name, size, sha256, to }: WantedFile, source: Source): Promise<void> {
    for (let tries = 1; ; tries++) {
      let bytes = done;
      const onChunk = (chunk: Buffer) => onBytes((bytes += chunk.length));
      try {
        const found = await save(upTo(size, source(name)), { to, signal, onChunk });
        if (found === sha256) break;
      } catch (error) {
        rmSync(to, { force: true });
        if (!isCut(error) || tries === MAX_ATTEMPTS) throw error;
        continue;
      }
      rmSync(to);
      throw damaged(name);
    }
    done += size;
  }

  /**
   * Brings the missing ones, one after another. Leaves only whole files, also when it rejects.
   * @throws KitError `CLUSTER_UNREACHABLE`, and the errors of a write
   */
  async function take(source: Source): Promise<void> {
    for (const file of missing) await receive(file, source);
  }

  return { missing: missing.map(({ name }) => name), missingBytes: bytesOf(missing), take };
}

function bytesOf(files: readonly WantedFile[]): number {
  return files.reduce((sum, { size }) => sum + size, 0);
}

function isCut(error: unknown): boolean {
  return isKitError(error) && error.code === "CLUSTER_UNREACHABLE";
}

async function digestOf(path: string): Promise<string> {
  const digest = createHash("sha256");
  await pipeline(createReadStream(path), digest);
  return digest.digest("hex");
}

/** Reads one byte beyond the size to detect a changed file. */
async function* upTo(size: number, source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let left = size + 1;
  for await (const chunk of source) {
    yield chunk.subarray(0, left);
    left -= chunk.length;
    if (left <= 0) return;
  }
}

interface Saving {
  to: string;
  signal: AbortSignal;
  onChunk: (chunk: Buffer) => void;
}

/** @returns the SHA-256 of what was saved */
async function save(source: AsyncIterable<Buffer>, { to, signal, onChunk }: Saving) {
  const digest = createHash("sha256");
  async function* digested() {
    for await (const chunk of source) {
      digest.update(chunk);
      onChunk(chunk);
      yield chunk;
    }
  }
  const file = createWriteStream(to, { mode: OTHERS_READ, flush: true });
  try {
    await pipeline(digested, file, { signal });
  } finally {
    // Opened late, it would appear after it was removed.
    if (!file.closed) await once(file, "close");
  }
  return digest.digest("hex");
}

function damaged(name: string): KitError {
  return new KitError(
    "CLUSTER_UNREACHABLE",
    `${name} did not arrive whole from the cluster. Try again: the checkpoint is whole in its storage.`,
  );
}
