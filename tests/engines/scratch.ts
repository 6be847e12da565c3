import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Directories of tests that run beside each other. */
export interface Scratch {
  root: string;
  directory: () => string;
  /** The path of a new file in a directory of its own. */
  file: (name: string, content: string | Buffer) => string;
  remove: () => void;
}

export function createScratch(): Scratch {
  const root = mkdtempSync(join(tmpdir(), "kit-ray-"));
  const directory = () => mkdtempSync(join(root, "kit-"));
  return {
    root,
    directory,
    file(name, content) {
      const path = join(directory(), name);
      writeFileSync(path, content);
      return path;
    },
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}
