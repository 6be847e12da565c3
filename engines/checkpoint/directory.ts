import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { messageOf } from "../../protocol/error.ts";
import { EngineError } from "../error.ts";

/** Where a job's artifacts are, in its directory. */
export const ARTIFACTS = "artifacts";

const PARTIAL = ".partial";

/** Others may load a model, where the umask lets them, and nobody else changes it. */
const OTHERS_READ = 0o644;
const OTHERS_READ_FOLDER = 0o755;

/**
 * Writes a directory under another name and renames it, so that it is never seen half-written.
 * @throws EngineError `CHECKPOINT_UNWRITABLE`
 */
export function writeDirectory(path: string, files: Files): void {
  stageDirectory(path, files)();
}

type Files = Record<string, string | Uint8Array>;

/**
 * Writes a directory under another name, which `removePartial` takes for an interrupted one.
 * @returns gives it its own name
 * @throws EngineError `CHECKPOINT_UNWRITABLE`, as does what it returns
 */
export function stageDirectory(path: string, files: Files): () => void {
  const partial = join(dirname(path), `.${basename(path)}${PARTIAL}`);
  orUnwritable(path, () => {
    mkdirSync(dirname(path), { recursive: true, mode: OTHERS_READ_FOLDER });
    rmSync(partial, { recursive: true, force: true });
    mkdirSync(partial, OTHERS_READ_FOLDER);
    for (const [name, content] of Object.entries(files)) {
      writeFileSync(join(partial, name), content, { mode: OTHERS_READ });
    }
  });
  return () =>
    orUnwritable(path, () => {
      rmSync(path, { recursive: true, force: true });
      renameSync(partial, path);
    });
}

function orUnwritable(path: string, write: () => void): void {
  try {
    write();
  } catch (cause) {
    throw new EngineError(
      "CHECKPOINT_UNWRITABLE",
      `Cannot save ${path}: ${messageOf(cause)}. Make the folder writable, or free disk space.`,
      { cause },
    );
  }
}

/** Removes what an interrupted `writeDirectory` left in `parent`, where that can be done. */
export function removePartial(parent: string): void {
  let names: string[];
  try {
    names = readdirSync(parent);
  } catch {
    // Nothing was written yet.
    return;
  }
  for (const name of names) {
    if (name.startsWith(".") && name.endsWith(PARTIAL)) {
      try {
        rmSync(join(parent, name), { recursive: true, force: true });
      } catch {
        // Its name tells that it is no artifact.
      }
    }
  }
}
