import { readdirSync } from "node:fs";
import { join } from "node:path";

/**
 * All files below a folder, by their paths in it with forward slashes. Recurses by hand: Yarn keeps packages in
 * archives, where Node's recursive option fails, and that option gives backslashes on Windows.
 */
export function listFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (!entry.isDirectory()) return [entry.name];
    return listFiles(join(folder, entry.name)).map((path) => `${entry.name}/${path}`);
  });
}
