import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { takeLock } from "../../disk/lock.ts";
import { remove } from "../../disk/move.ts";
import type { LoadOptions } from "../../protocol/engine.ts";
import { KitError } from "../../protocol/error.ts";
import type { GgufType } from "../../protocol/exportFormat.ts";
import { exportModel } from "../export/exportModel.ts";

/** Folder of the GGUF files, in the model's. */
const FOLDER = ".kit-llama";

interface GgufRequest {
  /** Directory of a model, or of an adapter for `adapterOnly`. */
  directory: string;
  type?: GgufType | undefined;
  adapterOnly?: boolean;
}

/**
 * Keeps a model's GGUF file in the model's folder until the model changes. Only one of several processes writes it.
 * @returns its path
 * @throws KitError as `exportModel`; `CHECKPOINT_UNWRITABLE` if the model's folder isn't writable
 */
export async function cachedGguf(request: GgufRequest, options: LoadOptions = {}): Promise<string> {
  const { directory, type, adapterOnly = false } = request;
  const { signal, onNote = () => {} } = options;
  const parent = join(directory, FOLDER);
  const prefix = adapterOnly ? "adapter" : (type ?? "own");
  const folder = join(parent, `${prefix}-${digestOf(directory)}`);
  const file = join(folder, "model.gguf");
  if (existsSync(file)) return file;
  const lock = await acquireLock(parent, signal);
  try {
    if (existsSync(file)) return file;
    for (const old of readdirSync(parent)) {
      if (old.startsWith(`${prefix}-`)) remove(join(parent, old));
    }
    onNote(`converting the model to ${file} for llama.cpp, once`);
    await exportModel(directory, folder, {
      format: "gguf",
      name: "model",
      adapterOnly,
      onNote: () => {},
      ...(type && !adapterOnly && { type }),
      ...(signal && { signal }),
    });
    return file;
  } finally {
    lock.release();
  }
}

/** Whether `cachedGguf` wrote a file. */
export function isCachedGguf(file: string): boolean {
  return basename(dirname(dirname(file))) === FOLDER;
}

async function acquireLock(parent: string, signal: AbortSignal | undefined) {
  try {
    mkdirSync(parent, { recursive: true });
    const lock = await takeLock(join(parent, "lock"), Infinity, { signal });
    if (lock) return lock;
  } catch (cause) {
    signal?.throwIfAborted();
    throw new KitError(
      "CHECKPOINT_UNWRITABLE",
      `llama() cannot write its GGUF file to ${parent}. Run npx kit export <model> --format gguf, and load that file.`,
      { cause },
    );
  }
  throw new Error("the lock was not taken");
}

/** A digest of a model's file names, sizes and times. */
function digestOf(directory: string): string {
  const files = readdirSync(directory).toSorted();
  const stamps = files.flatMap((name) => {
    const stats = statSync(join(directory, name), { throwIfNoEntry: false });
    return stats?.isFile() ? [[name, stats.size, stats.mtimeMs]] : [];
  });
  return createHash("sha256").update(JSON.stringify(stamps)).digest("hex").slice(0, 16);
}
