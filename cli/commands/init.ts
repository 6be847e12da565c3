import { basename, relative, resolve } from "node:path";
import { KitError, isKitError, messageOf } from "../../protocol/error.ts";
import { type Report, type Values, copyTemplate } from "../init/template.ts";
import { type PackageManager, findInstallation, runKit } from "../packages/manager.ts";
import { readManifest } from "../packages/manifest.ts";
import { shellWord } from "../shell.ts";

/** What npm takes as a package's name. */
const PACKAGE_NAME = /^(@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/;

/** npm installs no package into one of the same name, and refuses the second. */
const RESERVED_NAMES = new Set(["kit", "node_modules"]);

/**
 * Makes a project of a folder, which may have a project in it already.
 * @throws KitError `INVALID_NAME` or `CANNOT_WRITE`
 */
export function init(directory: string, options: { name?: string }): void {
  const project = resolve(directory);
  const name = options.name ?? readManifest(project)?.name ?? packageName(basename(project));
  if (options.name !== undefined) checkName(options.name);
  const installation = findInstallation(project);
  const { manager } = installation;
  const { added, kept } = write(project, { name, ...installation });
  console.log(`created a Kit project in ${project}`);
  if (added.length > 0) console.log(`added to: ${added.join(", ")}`);
  if (kept.length > 0) console.log(`left alone: ${kept.join(", ")}`);
  console.log(`next: ${enterFolder(project)}${manager} install && ${openPage(project, manager)}`);
}

function write(project: string, values: Values): Report {
  try {
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

/** The project's own script, unless it had another of that name. */
function openPage(project: string, manager: PackageManager): string {
  const hasScript = readManifest(project)?.scripts?.ui === "kit ui";
  return hasScript ? `${manager} run ui` : `${runKit(manager)} ui`;
}

/** The shell's words to enter a folder, as short as they are clear. */
function enterFolder(project: string): string {
  const folder = relative(process.cwd(), project);
  if (folder === "") return "";
  const path = folder.startsWith("..") ? project : folder;
  return `cd ${shellWord(path)} && `;
}
