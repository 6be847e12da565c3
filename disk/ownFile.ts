import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { KitError } from "../protocol/error.ts";

/**
 * Path of a file of this package.
 * @param url of a literal and the module's own: bundlers and file tracers find it as an argument, but not
 * in a function that returns it
 * @param beside what it needs in its folder, which they do not find
 * @throws KitError `KIT_BUNDLED` where one is missing
 */
export function ownFile(url: URL, ...beside: string[]): string {
  const path = fileURLToPath(url);
  const missing = [path, ...beside.map((name) => join(dirname(path), name))].find(
    (file) => !existsSync(file),
  );
  if (missing !== undefined) throw missingFile(missing);
  return path;
}

/** @param what the file, or the error that names it */
export function missingFile(what: string): KitError {
  return new KitError(
    "KIT_BUNDLED",
    `A file that Kit needs is missing (${what}): Kit was bundled, or copied without it. Keep kit external (Next.js: serverExternalPackages: ["kit"]; esbuild: --external:kit) and copy its whole folder.`,
  );
}
