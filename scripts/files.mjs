import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** Records the state in which each step last finished. */
export const STAMPS = join(ROOT, "node_modules", ".cache", "kit");

/** A digest of the names and contents of files and folders in the clone. */
export function digest(paths) {
  const hash = createHash("sha256");
  for (const path of paths.flatMap(listFiles)) {
    hash
      .update(path)
      .update("\0")
      .update(readFileSync(join(ROOT, path)))
      .update("\0");
  }
  return hash.digest("hex");
}

/** A path itself, or all files below it. */
export function listFiles(path) {
  const names = readdirOrNull(join(ROOT, path));
  return names ? names.sort().flatMap((name) => listFiles(join(path, name))) : [path];
}

function readdirOrNull(path) {
  try {
    return readdirSync(path);
  } catch {
    // A file.
    return null;
  }
}
