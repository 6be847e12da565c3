import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { CHECKSUMS_FILE, checksumOf } from "../../disk/checksums.ts";
import { OTHERS_READ, OTHERS_READ_FOLDER, makeDirectory, syncFolder } from "../../disk/file.ts";
import { isPartialFolder, partialFolder } from "../../protocol/artifactPath.ts";
import { KitError, isKitError, unwritable } from "../../protocol/error.ts";
import { writeWhole } from "../modelFiles/plainFile.ts";

/** A file's content, whole or in parts that follow one another. */
type Content = string | Uint8Array | Uint8Array[];

/** The files of a directory, by their names. */
type Files = Record<string, Content>;

/** A directory under another name, until all of it is there. */
export interface PartialDirectory {
  /** Where it is, until then. */
  path: string;
  write: (name: string, content: Content) => void;
  /** Gives it its name. @param clear removes what has that name */
  commit: (clear?: () => void) => void;
  discard: () => void;
}

/**
 * Begins to write a directory under another name, so that it is never seen half-written, nor found
 * so after a loss of power: all of it is on the disk before it has its name.
 * @param path its name to be
 * @param partial its path until then, beside it
 */
export function beginDirectory(path: string, partial: string): PartialDirectory {
  return begin(partial, (clear) => {
    clear();
    renameSync(partial, path);
    syncFolder(dirname(path));
  });
}

/**
 * As `beginDirectory`, in a folder that is there and stays, such as a mount point. Its files come to
 * their places one by one, each whole.
 * @param partial their path until then, in it
 * @param last the file that marks a whole directory
 */
export function beginWithin(folder: string, partial: string, last: string): PartialDirectory {
  return begin(partial, (clear) => {
    clear();
    const move = (file: string) => renameSync(join(partial, file), join(folder, file));
    readdirSync(partial)
      .filter((file) => file !== last)
      .forEach(move);
    syncFolder(folder);
    move(last);
    rmdirSync(partial);
    syncFolder(folder);
  });
}

function begin(partial: string, place: (clear: () => void) => void): PartialDirectory {
  const discard = () => rmSync(partial, { recursive: true, force: true });
  discard();
  mkdirSync(partial, OTHERS_READ_FOLDER);
  return {
    path: partial,
    write(name, content) {
      const to = join(partial, name);
      if (Array.isArray(content)) writeParts(to, content);
      else writeFileSync(to, content, { mode: OTHERS_READ, flush: true });
    },
    commit(clear = () => undefined) {
      syncFolder(partial);
      place(clear);
    },
    discard,
  };
}

function writeParts(path: string, parts: Uint8Array[]): void {
  const file = openSync(path, "w", OTHERS_READ);
  try {
    for (const part of parts) writeWhole(file, part);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/**
 * Writes a whole directory at once, in place of what has its name. `removePartial` removes the rest of
 * an interrupted one. Other users may load a model, if the umask permits, but not change it.
 * @throws KitError `CHECKPOINT_UNWRITABLE`, `LINK_IN_KIT`
 */
export function writeDirectory(path: string, files: Files): void {
  try {
    const parent = dirname(path);
    makeDirectory(parent);
    const directory = beginDirectory(path, join(parent, partialFolder(basename(path))));
    for (const [name, content] of Object.entries(files)) directory.write(name, content);
    directory.commit(() => rmSync(path, { recursive: true, force: true }));
  } catch (cause) {
    throw isKitError(cause) ? cause : cannotSave(path, cause);
  }
}

/** Files, and how each of them is, for a resume to know that it still is so. */
export function withChecksums(files: Files): Files {
  const checksums = Object.entries(files).map(([name, content]) => [
    name,
    checksumOf(Array.isArray(content) ? content : [content]),
  ]);
  return { ...files, [CHECKSUMS_FILE]: JSON.stringify(Object.fromEntries(checksums), null, 2) };
}

export function cannotSave(path: string, cause: unknown): KitError {
  return new KitError("CHECKPOINT_UNWRITABLE", unwritable(`save ${path}`, cause), { cause });
}

/** Removes what an interrupted `writeDirectory` left in `parent`. Best effort. */
export function removePartial(parent: string): void {
  let names: string[];
  try {
    names = readdirSync(parent);
  } catch {
    // Nothing was written yet.
    return;
  }
  for (const name of names) {
    if (isPartialFolder(name)) {
      try {
        rmSync(join(parent, name), { recursive: true, force: true });
      } catch {
        // Its name marks it as partial.
      }
    }
  }
}
