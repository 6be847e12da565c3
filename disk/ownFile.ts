import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { KitError } from "../protocol/error.ts";

/**
 * The path of one of this package's files.
 * @param url `new URL("./literal", import.meta.url)`, which bundlers and file tracers recognize
 * @param siblings files that it needs in its folder, which they don't find
 * @throws KitError `KIT_BUNDLED` if one is missing
 */
export function ownFile(url: URL, ...siblings: string[]): string {
  const path = fileURLToPath(url);
  const missing = [path, ...siblings.map((name) => join(dirname(path), name))].find(
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
