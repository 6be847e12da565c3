import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { CHECKSUMS_FILE, checksumOf } from "../../disk/checksums.ts";
import { OTHERS_READ, OTHERS_READ_FOLDER, makeDirectory, syncFolder } from "../../disk/file.ts";
import { move, remove, tryRemove } from "../../disk/move.ts";
import { isPartialFolder, partialFolder } from "../../protocol/artifactPath.ts";
import { KitError, isKitError, unwritableMessage } from "../../protocol/error.ts";
import { writeFully } from "../modelFiles/regularFile.ts";

/** A file's content, whole or in consecutive chunks. */
type Content = string | Uint8Array | Uint8Array[];

/** A directory's files, by name. */
type Files = Record<string, Content>;

/** A directory under a temporary name until it is whole. */
export interface PartialDirectory {
  path: string;
  write: (name: string, content: Content) => void;
  /** Renames it to its final path. @param clear removes what is there */
  commit: (clear?: () => void) => void;
  discard: () => void;
}

/**
 * Stages a directory under a temporary name, so that nobody sees it half-written, even after a power loss: all files
 * are flushed before the rename.
 * @param path its final path
 * @param partial its temporary path, beside the final one
 */
export function stageDirectory(path: string, partial: string): PartialDirectory {
  return stage(partial, (clear) => {
    clear();
    move(partial, path);
    syncFolder(dirname(path));
  });
}

/**
 * As `stageDirectory`, for an existing folder that must stay, such as a mount point. Files are moved one by one.
 * @param partial their temporary path, inside the folder
 * @param last the file that completes the directory
 */
export function stageWithin(folder: string, partial: string, last: string): PartialDirectory {
  return stage(partial, (clear) => {
    clear();
    const moveFile = (file: string) => move(join(partial, file), join(folder, file));
    readdirSync(partial)
      .filter((file) => file !== last)
      .forEach(moveFile);
    syncFolder(folder);
    moveFile(last);
    rmdirSync(partial);
    syncFolder(folder);
  });
}

function stage(partial: string, publish: (clear: () => void) => void): PartialDirectory {
  const discard = () => remove(partial);
  discard();
  mkdirSync(partial, OTHERS_READ_FOLDER);
  return {
    path: partial,
    write(name, content) {
      const to = join(partial, name);
      if (Array.isArray(content)) writeChunks(to, content);
      else writeFileSync(to, content, { mode: OTHERS_READ, flush: true });
    },
    commit(clear = () => undefined) {
      syncFolder(partial);
      publish(clear);
    },
    discard,
  };
}

function writeChunks(path: string, chunks: Uint8Array[]): void {
  const file = openSync(path, "w", OTHERS_READ);
  try {
    for (const chunk of chunks) writeFully(file, chunk);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/**
 * Replaces a directory atomically. `removePartial` cleans up after an interrupted write. Other users may load a model,
 * if the umask permits, but not change it.
 * @throws KitError `CHECKPOINT_UNWRITABLE`, `LINK_IN_KIT`
 */
export function writeDirectory(path: string, files: Files): void {
  try {
    const parent = dirname(path);
    makeDirectory(parent);
    const directory = stageDirectory(path, join(parent, partialFolder(basename(path))));
    for (const [name, content] of Object.entries(files)) directory.write(name, content);
    directory.commit(() => remove(path));
  } catch (cause) {
    throw isKitError(cause) ? cause : cannotSave(path, cause);
  }
}

/** Adds the files' checksums, for a resume to verify. */
export function withChecksums(files: Files): Files {
  const checksums = Object.entries(files).map(([name, content]) => [
    name,
    checksumOf(Array.isArray(content) ? content : [content]),
  ]);
  return { ...files, [CHECKSUMS_FILE]: JSON.stringify(Object.fromEntries(checksums), null, 2) };
}

export function cannotSave(path: string, cause: unknown): KitError {
  return new KitError("CHECKPOINT_UNWRITABLE", unwritableMessage(`save ${path}`, cause), { cause });
}

/** Removes what interrupted calls to `writeDirectory` left in `parent`. Best effort. */
export function removePartial(parent: string): void {
  let names: string[];
  try {
    names = readdirSync(parent);
  } catch {
    // Nothing has been written yet.
    return;
  }
  for (const name of names) {
    if (isPartialFolder(name)) {
      // Its name marks what stays as partial.
      tryRemove(join(parent, name));
    }
  }
}
