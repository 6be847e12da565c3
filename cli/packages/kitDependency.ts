import { realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve, sep } from "node:path";
import { readManifest } from "./packageJson.ts";
import { PACKAGE } from "./own.ts";

/** What names a file or a folder, as npm, pnpm, yarn or bun write it. */
const PATH = /^(?:(?:file|link|portal):|(?=\.{0,2}\/))(.*)/;
/** What only a member of the same workspace may say. */
const WORKSPACE_ONLY = /^(workspace|catalog):/;

/**
 * What a project's `package.json` says to get the Kit that runs, and not another package of that
 * name: what the folder says that it was installed into, else the folder where it lies.
 */
export function kitDependency(project: string): string {
  const folders = [...foldersAbove(PACKAGE.root), ...foldersAbove(process.cwd())];
  for (const folder of folders) {
    const manifest = readManifest(folder);
    const declared = manifest?.dependencies?.kit ?? manifest?.devDependencies?.kit;
    if (!declared || WORKSPACE_ONLY.test(declared) || !isInstalledIn(folder)) continue;
    const path = PATH.exec(declared)?.[1];
    return path === undefined ? declared : pathFrom(project, resolve(folder, path));
  }
  return pathFrom(project, PACKAGE.root);
}

/** Whether the Kit that runs is the one that a folder's own code gets. */
function isInstalledIn(folder: string): boolean {
  try {
    const found = createRequire(join(folder, "package.json")).resolve("kit/package.json");
    return dirname(found) === PACKAGE.root;
  } catch {
    // None is installed there.
    return false;
  }
}

function pathFrom(project: string, path: string): string {
  return `file:${relative(withoutLinks(project), withoutLinks(path)).split(sep).join("/")}`;
}

/** A relative path leads elsewhere through a symbolic link. */
function withoutLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // Gone: the package manager will say so.
    return path;
  }
}

function foldersAbove(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [path] : [path, ...foldersAbove(parent)];
}
