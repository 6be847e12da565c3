import { lstatSync, statSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { KitError, isKitError, messageOf } from "../../protocol/error.ts";
import { type Values, runScript } from "../init/content.ts";
import { type Report, copyTemplate } from "../init/template.ts";
import { findInstallation } from "../packages/manager.ts";
import { readManifest } from "../packages/packageJson.ts";
import { shellWord } from "../shell.ts";

/** What npm takes as a package's name. */
const PACKAGE_NAME = /^(@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/;

/** npm installs no package into one of the same name, and refuses the second. */
const RESERVED_NAMES = new Set(["kit", "node_modules"]);

/**
 * Makes a project of a folder, which may have a project in it already.
 * @throws KitError `INVALID_NAME`, `INVALID_MANIFEST` or `CANNOT_WRITE`
 */
export function init(directory: string, options: { name?: string }): void {
  const project = resolve(directory);
  const name = options.name ?? readManifest(project)?.name ?? packageName(basename(project));
  if (options.name !== undefined) checkName(options.name);
  const installation = findInstallation(project);
  const { manager } = installation;
  print(project, write(project, { name, ...installation }));
  const openPage = runScript(project, manager, "ui");
  console.log(`next: ${enterFolder(project)}${manager} install && ${openPage}`);
}

/** A folder that had nothing needs no list. */
function print(project: string, { created, added, kept }: Report): void {
  const lists = { created, "added to": added, "left alone": kept };
  const isNew = created.includes("package.json") && added.length + kept.length === 0;
  if (isNew) console.log(`created a Kit project in ${project}`);
  else if (created.length + added.length > 0) console.log(`added Kit to ${project}`);
  else console.log(`nothing to add to ${project}`);
  for (const [what, files] of Object.entries(lists)) {
    if (!isNew && files.length > 0) console.log(`${what}: ${files.join(", ")}`);
  }
}

function write(project: string, values: Values): Report {
  try {
    checkFolder(project);
    return copyTemplate(project, values);
  } catch (error) {
    if (isKitError(error)) throw error;
    throw new KitError(
      "CANNOT_WRITE",
      `Cannot write into ${project}: ${messageOf(error)}. Make the folder writable, or name another.`,
      { cause: error },
    );
  }
}

/** Before anything is written: what cannot become a project is left as it was. */
function checkFolder(project: string): void {
  const folder = statSync(project, { throwIfNoEntry: false });
  if (!folder) return;
  if (!folder.isDirectory()) {
    throw new KitError("CANNOT_WRITE", `${project} is a file. Name a folder, or a new one.`);
  }
  const manifest = join(project, "package.json");
  if (!lstatSync(manifest, { throwIfNoEntry: false }) || readManifest(project)) return;
  throw new KitError(
    "INVALID_MANIFEST",
    `${manifest} is not a JSON object that npm can read. Mend package.json, then run kit init again.`,
  );
}

function checkName(name: string): void {
  if (PACKAGE_NAME.test(name) && !RESERVED_NAMES.has(name)) return;
  throw new KitError(
    "INVALID_NAME",
    `npm does not take ${JSON.stringify(name)} as a name. Use lowercase letters, digits, dots, dashes or underscores, and not "kit".`,
  );
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
function enterFolder(project: string): string {
  const folder = relative(process.cwd(), project);
  if (folder === "") return "";
  const path = folder.startsWith("..") ? project : folder;
  return `cd ${shellWord(path)} && `;
}
