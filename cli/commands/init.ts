import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { makeDirectory } from "../../jobs/file.ts";
import { KitError, messageOf } from "../../protocol/error.ts";
import { PACKAGE, packageVersion } from "../package.ts";

/** npm leaves `.gitignore` out of a package, so the template has it under another name. */
const RENAMED: Record<string, string> = { gitignore: ".gitignore" };

const MANIFEST = "package.json";

/** What npm takes as a package's name. */
const PACKAGE_NAME = /^(@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/;

/** npm installs no package into one of the same name, and refuses the second. */
const RESERVED_NAMES = new Set(["kit", "node_modules"]);

/**
 * Copies the quickstart into a folder; what is there already stays as it is.
 * @throws KitError `INVALID_NAME` or `CANNOT_WRITE`
 */
export function init(directory: string, options: { name?: string }): void {
  const target = resolve(directory);
  const name = options.name ?? packageName(basename(target));
  if (!PACKAGE_NAME.test(name) || RESERVED_NAMES.has(name)) {
    throw new KitError(
      "INVALID_NAME",
      `npm does not take ${JSON.stringify(name)} as a name. Use lowercase letters, digits, dots, dashes or underscores, and not "kit".`,
    );
  }
  const template = join(PACKAGE.templates, "quickstart");
  const kept: string[] = [];
  try {
    for (const file of listFiles(template)) {
      const copy = RENAMED[file] ?? file;
      const content = readFileSync(join(template, file));
      const isNew = writeNew(
        join(target, copy),
        file === MANIFEST ? fillIn(content, name, target) : content,
      );
      if (!isNew) kept.push(copy);
    }
  } catch (error) {
    throw new KitError(
      "CANNOT_WRITE",
      `Cannot write into ${target}: ${messageOf(error)}. Make the folder writable, or name another.`,
      { cause: error },
    );
  }
  console.log(`created a Kit project in ${target}`);
  if (kept.length > 0) console.log(`kept as they were: ${kept.join(", ")}`);
  console.log(`next: ${enterFolder(target)}npm install && npx kit ui`);
}

/** Returns whether the file was written: one that exists is not. */
function writeNew(path: string, content: string | Buffer): boolean {
  makeDirectory(dirname(path));
  try {
    writeFileSync(path, content, { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function fillIn(content: Buffer, name: string, target: string): string {
  const manifest = JSON.parse(content.toString()) as { dependencies: Record<string, string> };
  const dependencies = { ...manifest.dependencies, kit: kitDependency(target) };
  return `${JSON.stringify({ ...manifest, name, dependencies }, null, 2)}\n`;
}

/** The Kit that runs: its version where it was installed, its folder where it is a clone. */
function kitDependency(target: string): string {
  const isInstalled = PACKAGE.root.split(sep).includes("node_modules");
  if (isInstalled) return `^${packageVersion()}`;
  return `file:${relative(target, PACKAGE.root).split(sep).join("/")}`;
}

/** A folder's name as npm allows it for a package. */
function packageName(folder: string): string {
  const name = folder
    .toLowerCase()
    .replace(/[^a-z0-9-_.]+/g, "-")
    .replace(/^[-_.]+|-+$/g, "");
  return name === "" || RESERVED_NAMES.has(name) ? "kit-project" : name;
}

/** The shell's words to enter a folder, as short as they are clear. */
function enterFolder(target: string): string {
  const folder = relative(process.cwd(), target);
  if (folder === "") return "";
  const path = folder.startsWith("..") ? target : folder;
  return `cd ${/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`} && `;
}

/** The manifest is the last: a copy that was interrupted is seen by its absence. */
function listFiles(directory: string): string[] {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)));
  return [...files.filter((file) => file !== MANIFEST), MANIFEST];
}
