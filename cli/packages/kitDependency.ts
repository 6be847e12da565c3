import { realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve, sep } from "node:path";
import { PACKAGE } from "./kitPackage.ts";
import { readPackageJson } from "./packageJson.ts";

/** A file or a folder, as npm, pnpm, yarn or bun write it. */
const PATH = /^(?:(?:file|link|portal):|(?=\.{0,2}\/))(.*)/;
/** Only members of the same workspace can use these. */
const WORKSPACE_ONLY = /^(workspace|catalog):/;

/**
 * The version or path of `kit` in a new project's `package.json`. It leads to the running Kit, not
 * to npm's package of that name: copied from the folder that has Kit installed, else Kit's own path.
 */
export function kitDependency(project: string): string {
  const folders = [...foldersAbove(PACKAGE.root), ...foldersAbove(process.cwd())];
  for (const folder of folders) {
    const packageJson = readPackageJson(folder);
    const declared = packageJson?.dependencies?.kit ?? packageJson?.devDependencies?.kit;
    if (!declared || WORKSPACE_ONLY.test(declared) || !isInstalledIn(folder)) continue;
    const path = PATH.exec(declared)?.[1];
    return path === undefined ? declared : pathFrom(project, resolve(folder, path));
  }
  return pathFrom(project, PACKAGE.root);
}

/** Whether code in a folder imports the running Kit. */
function isInstalledIn(folder: string): boolean {
  try {
    const found = createRequire(join(folder, "package.json")).resolve("kit/package.json");
    return dirname(found) === PACKAGE.root;
  } catch {
    // No Kit is installed there.
    return false;
  }
}

function pathFrom(project: string, path: string): string {
  return `file:${relative(withoutLinks(project), withoutLinks(path)).split(sep).join("/")}`;
}

/** A relative path would lead elsewhere through a symbolic link. */
function withoutLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // The package manager reports a missing folder.
    return path;
  }
}

function foldersAbove(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [path] : [path, ...foldersAbove(parent)];
}
