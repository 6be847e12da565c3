import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Where a job's artifacts are, in its directory. */
export const ARTIFACTS = "artifacts";

const PARTIAL = ".partial";

/** Writes a directory under another name and renames it, so that it is never seen half-written. */
export function writeDirectory(path: string, files: Record<string, string | Uint8Array>): void {
  const partial = join(dirname(path), `.${basename(path)}${PARTIAL}`);
  rmSync(partial, { recursive: true, force: true });
  mkdirSync(partial, { recursive: true });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(partial, name), content);
  rmSync(path, { recursive: true, force: true });
  renameSync(partial, path);
}

/** Removes what an interrupted `writeDirectory` left in `parent`. */
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
      rmSync(join(parent, name), { recursive: true, force: true });
    }
  }
}
