import { readFileSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { KitError } from "../../protocol/error.ts";
import { VERSION } from "../../protocol/version.ts";
import { installCommand, detectPackageManager, runKitCommand } from "./manager.ts";
import { readPackageJson } from "./packageJson.ts";

// Resolved by name, because the path from here differs between the sources and dist/.
const root = dirname(createRequire(import.meta.url).resolve("kit/package.json"));

/** Absolute paths in the running package. */
export const PACKAGE = {
  root,
  page: join(root, "dist", "page"),
  /** By import name. */
  exports: {
    kit: join(root, "dist", "sdk", "index.js"),
    "kit/engines": join(root, "dist", "sdk", "engines.js"),
    "kit/metrics": join(root, "dist", "sdk", "metrics.js"),
  },
  pythonLock: join(root, "dist", "engines", "python", "requirements.txt"),
  templates: join(root, "templates"),
  /** The running script, for subprocesses. */
  cli: fileURLToPath(new URL("../kit.js", import.meta.url)),
};

/** A dependency on a file or a folder, as npm, pnpm, yarn or bun write it. */
const PATH_DEPENDENCY = /^(?:(?:file|link|portal):|(?=\.{0,2}\/))(.*)/;
/** Only members of the same workspace can use these. */
const WORKSPACE_ONLY = /^(workspace|catalog):/;

/**
 * The version or path of `kit` for a new project's `package.json`: copied from the
 * `package.json` of the project that has the running Kit installed, or else a `file:` path to it. npm has
 * another package of that name.
 */
export function kitDependency(project: string): string {
  const folders = [...foldersAbove(PACKAGE.root), ...foldersAbove(process.cwd())];
  for (const folder of folders) {
    const packageJson = readPackageJson(folder);
    const declared = packageJson?.dependencies?.kit ?? packageJson?.devDependencies?.kit;
    if (!declared || WORKSPACE_ONLY.test(declared) || !isInstalledIn(folder)) continue;
    const path = PATH_DEPENDENCY.exec(declared)?.[1];
    return path === undefined ? declared : fileDependency(project, resolve(folder, path));
  }
  return fileDependency(project, PACKAGE.root);
}

/** Whether code in a folder imports the running Kit. */
function isInstalledIn(folder: string): boolean {
  try {
    const resolved = createRequire(join(folder, "package.json")).resolve("kit/package.json");
    // With the NODE_PATH that pnpm sets, Node doesn't follow its links.
    return realPathOrSelf(dirname(resolved)) === PACKAGE.root;
  } catch {
    // No Kit is installed there.
    return false;
  }
}

function fileDependency(project: string, path: string): string {
  return `file:${relative(realPathOrSelf(project), realPathOrSelf(path)).split(sep).join("/")}`;
}

/** A relative path would lead elsewhere through a symbolic link. */
function realPathOrSelf(path: string): string {
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

/** npm has another package named `kit`. */
type InstalledKit = "kit" | "another package" | "nothing";

/** Finds the package that `import … from "kit"` in a file resolves to. */
export function installedKit(file: string): InstalledKit {
  try {
    const path = createRequire(file).resolve("kit/package.json");
    const { bin } = JSON.parse(readFileSync(path, "utf8")) as { bin?: { kit?: unknown } };
    const isOurs = typeof bin?.kit === "string" && bin.kit.endsWith("dist/cli/kit.js");
    return isOurs ? "kit" : "another package";
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code !== "MODULE_NOT_FOUND";
    return isThere ? "another package" : "nothing";
  }
}

/** @param project the folder whose `kit` is another package */
export function wrongKit(project: string): KitError {
  return new KitError(
    "WRONG_KIT",
    `The "kit" package installed in ${project} is not this Kit but an unrelated package of the same name. Install this one with: ${installThisKitCommand(project)}`,
  );
}

/**
 * @param project a folder that has another version of Kit
 * @param version undefined for a version too old to record itself
 */
export function otherVersion(project: string, version = "an older version"): KitError {
  const run = runKitCommand(detectPackageManager(project).manager);
  return new KitError(
    "KIT_VERSION",
    `This is Kit ${VERSION}, but the project's trainer uses ${version}. To run the project's own Kit, in its folder: ${run}; or install this one with: ${installThisKitCommand(project)}`,
  );
}

function installThisKitCommand(project: string): string {
  return installCommand(project, `kit@${kitDependency(project)}`);
}
