import { createHash } from "node:crypto";
import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { OTHERS_READ, OTHERS_READ_FOLDER } from "../../disk/modes.ts";
import { syncFolder } from "../../disk/sync.ts";
import { partialFolder } from "../../protocol/artifactPath.ts";
import { unwritable } from "../../protocol/cannotWrite.ts";
import { KitError, isKitError } from "../../protocol/error.ts";
import { layOut } from "./layOut.ts";
import type { Stored } from "./messages.ts";
import type { Remote } from "./remote.ts";

interface Way {
  remote: Remote;
  signal: AbortSignal;
}

/** A checkpoint's files, one after another. */
type Source = (name: string) => AsyncIterable<Buffer>;

/**
 * Brings a checkpoint from the cluster's storage to this machine, whole when it has its name: by the
 * file system where both see it, else through the dashboard.
 * @throws KitError `CHECKPOINT_UNWRITABLE`, `CLUSTER_UNREACHABLE`
 */
export async function bringHome(stored: Stored, path: string, way: Way): Promise<void> {
  const here = (name: string) => join(stored.path, name);
  if (Object.keys(stored.files).every((name) => existsSync(here(name)))) {
    return write(stored, path, (name) => createReadStream(here(name)), way);
  }
  const laid = await layOut(stored, path, way);
  try {
    await write(stored, path, laid.read, way);
  } finally {
    await laid.close();
  }
}

async function write({ files }: Stored, path: string, source: Source, { signal }: Way) {
  const partial = join(dirname(path), partialFolder(basename(path)));
  try {
    rmSync(partial, { recursive: true, force: true });
    mkdirSync(partial, { recursive: true, mode: OTHERS_READ_FOLDER });
    for (const [name, { sha256 }] of Object.entries(files)) {
      const found = await save(source(name), join(partial, basename(name)), signal);
      if (found !== sha256) throw damaged(join(path, name));
    }
    syncFolder(partial);
    rmSync(path, { recursive: true, force: true });
    renameSync(partial, path);
    syncFolder(dirname(path));
  } catch (cause) {
    signal.throwIfAborted();
    if (isKitError(cause)) throw cause;
    throw new KitError("CHECKPOINT_UNWRITABLE", unwritable(`save ${path}`, cause), { cause });
  }
}

/** @returns the SHA-256 of what was saved */
async function save(source: AsyncIterable<Buffer>, path: string, signal: AbortSignal) {
  const digest = createHash("sha256");
  async function* digested() {
    for await (const chunk of source) {
      digest.update(chunk);
      yield chunk;
    }
  }
  const file = createWriteStream(path, { mode: OTHERS_READ, flush: true });
  await pipeline(digested, file, { signal });
  return digest.digest("hex");
}

function damaged(path: string): KitError {
  return new KitError(
    "CLUSTER_UNREACHABLE",
    `${path} did not arrive whole from the cluster. Try again: the checkpoint is whole in its storage.`,
  );
}
