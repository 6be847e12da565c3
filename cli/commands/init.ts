import { lstatSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { KitError, isKitError, messageOf } from "../../protocol/error.ts";
import { Option, createCommand } from "../command.ts";
import { type Values, TEMPLATES, runScript } from "../init/content.ts";
import { type Report, copyTemplate } from "../init/template.ts";
import { detectPackageManager } from "../packages/manager.ts";
import { readPackageJson } from "../packages/packageJson.ts";
import { print } from "../terminal/print.ts";
import { pathFrom, shellWord } from "../terminal/shell.ts";

/** A valid npm package name. */
const PACKAGE_NAME = /^(@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/;

/** npm can't install `kit` into a project of that name, and forbids `node_modules` as a name. */
const RESERVED_NAMES = new Set(["kit", "node_modules"]);

/**
 * Creates a project in a folder, or adds Kit to the project that is there.
 * @throws KitError `NAME_INVALID`, `PACKAGE_JSON_INVALID`, `CANNOT_WRITE`
 */
export const command = createCommand("init", {
  "kit init dates": "create a project in dates/, which trains a small model from scratch",
  "kit init tickets --template finetune":
    "create a project that fine-tunes an open model from the Hugging Face hub",
  "kit init": "add Kit to the current folder; overwrites nothing",
  "kit init dates --name my-dates": "choose another package name",
})
  .argument("[dir]", "project folder", ".")
  .option("--name <name>", "package name (default: the folder's name)")
  .addOption(
    new Option("--template <name>", "what the project trains")
      .choices(TEMPLATES)
      .default("quickstart"),
  )
  .action((directory, options) => {
    const project = resolve(directory);
    const name = options.name ?? readPackageJson(project)?.name ?? packageName(basename(project));
    if (options.name !== undefined) checkName(options.name);
    const detected = detectPackageManager(project);
    const { manager } = detected;
    report(project, write(project, { name, template: options.template, ...detected }));
    const openPage = runScript(project, manager, "ui");
    print(`next: ${enterFolder(project)}${manager} install && ${openPage}`);
  });

/** Lists files only when the project existed before. */
function report(project: string, { created, added, leftAlone }: Report): void {
  const lists = { created, "added to": added, "left alone": leftAlone };
  const isNew = created.includes("package.json") && added.length + leftAlone.length === 0;
  if (isNew) print(`created a Kit project in ${project}`);
  else if (created.length + added.length > 0) print(`added Kit to ${project}`);
  else print(`nothing to add to ${project}`);
  for (const [heading, files] of Object.entries(lists)) {
    if (!isNew && files.length > 0) print(`${heading}: ${files.join(", ")}`);
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
      `Cannot write to ${project}: ${messageOf(error)}. Make the folder writable, or name another.`,
      { cause: error },
    );
  }
}

/** Runs before anything is written, so that a failure leaves the folder unchanged. */
function checkFolder(project: string): void {
  const folder = statSync(project, { throwIfNoEntry: false });
  if (!folder) return;
  if (!folder.isDirectory()) {
    throw new KitError("CANNOT_WRITE", `${project} is a file. Name a folder instead.`);
  }
  const path = join(project, "package.json");
  if (!lstatSync(path, { throwIfNoEntry: false }) || readPackageJson(project)) return;
  throw new KitError(
    "PACKAGE_JSON_INVALID",
    `npm cannot read ${path}. Fix the file, then run kit init again.`,
  );
}

function checkName(name: string): void {
  if (PACKAGE_NAME.test(name) && !RESERVED_NAMES.has(name)) return;
  throw new KitError(
    "NAME_INVALID",
    `npm does not allow ${JSON.stringify(name)} as a package name. Use lowercase letters, digits, dots, dashes or underscores, but not the name ${[...RESERVED_NAMES].join(" or ")}.`,
  );
}

/** Turns a folder's name into a valid package name. */
function packageName(folder: string): string {
  const name = folder
    .toLowerCase()
    .replace(/[^a-z0-9-_.]+/g, "-")
    .replace(/^[-_.]+|-+$/g, "");
  return name === "" || RESERVED_NAMES.has(name) ? "kit-project" : name;
}

/** The command that enters a folder: by its relative path, or by its absolute path if outside. */
function enterFolder(project: string): string {
  const folder = pathFrom(process.cwd(), project);
  return folder && `cd ${shellWord(folder)} && `;
}
