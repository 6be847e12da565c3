import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { OTHERS_READ, OTHERS_READ_FOLDER } from "../../disk/modes.ts";
import { syncFolder } from "../../disk/sync.ts";
import { isPartialFolder, partialFolder } from "../../protocol/artifactPath.ts";
import { unwritable } from "../../protocol/cannotWrite.ts";
import { KitError } from "../../protocol/error.ts";

/** The files of a directory, by their names. */
type Files = Record<string, string | Uint8Array>;

/**
 * Writes a directory under another name and renames it, so that it is never seen half-written, nor
 * found so after a loss of power: all of it is on the disk before it has its name.
 * `removePartial` removes the rest of an interrupted one.
 * @throws KitError `CHECKPOINT_UNWRITABLE`
 */
export function writeDirectory(path: string, files: Files): void {
  const partial = join(dirname(path), partialFolder(basename(path)));
  orUnwritable(path, () => {
    // Other users may load a model, if the umask permits, but not change it.
    mkdirSync(dirname(path), { recursive: true, mode: OTHERS_READ_FOLDER });
    rmSync(partial, { recursive: true, force: true });
    mkdirSync(partial, OTHERS_READ_FOLDER);
    for (const [name, content] of Object.entries(files)) {
      writeFileSync(join(partial, name), content, { mode: OTHERS_READ, flush: true });
    }
    syncFolder(partial);
    rmSync(path, { recursive: true, force: true });
    renameSync(partial, path);
    syncFolder(dirname(path));
  });
}

function orUnwritable(path: string, write: () => void): void {
  try {
    write();
  } catch (cause) {
    throw new KitError("CHECKPOINT_UNWRITABLE", unwritable(`save ${path}`, cause), { cause });
  }
}

/** Removes the remains of an interrupted `writeDirectory` from `parent`, as far as it can. */
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
