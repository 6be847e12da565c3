import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { kitDependency } from "../packages/kitDependency.ts";
import { type Installation, type PackageManager, runKit } from "../packages/manager.ts";
import { type Manifest, readManifest } from "../packages/packageJson.ts";
import { PACKAGE } from "../packages/own.ts";

const TEMPLATE = join(PACKAGE.templates, "quickstart");
export const MANIFEST = "package.json";
export const TSCONFIG = "tsconfig.json";

/** npm leaves `.gitignore` out of a package, so the template has it under another name. */
const RENAMED: Record<string, string> = { gitignore: ".gitignore" };

/** What a package manager needs in a folder that is a project of its own, whatever is above it. */
const OWN_FILES: Partial<Record<PackageManager, Record<string, string>>> = {
  // pnpm fails on an install script that nobody has judged.
  pnpm: { "pnpm-workspace.yaml": "allowBuilds:\n  esbuild: false\n" },
  yarn: { "yarn.lock": "" },
};

/** esbuild's install script only checks its binary; npm warns of one that nobody has judged. */
const ALLOW_SCRIPTS = { esbuild: false };

export interface Values extends Installation {
  /** The package's name. */
  name: string;
}

/** The shell's words for what a script of the template's does, also where another has its name. */
export function runScript(project: string, manager: PackageManager, script: string): string {
  const ours = templateManifest().scripts?.[script] ?? "";
  const own = readManifest(project)?.scripts?.[script] ?? ours;
  return own === ours
    ? `${manager} run ${script}`
    : `${runKit(manager)}${ours.slice("kit".length)}`;
}

/** The content of each file, by its path in the project. */
export function filesFor(project: string, values: Values): Record<string, string> {
  const { manager, shownBy } = values;
  const isNew = !existsSync(join(project, MANIFEST));
  // Else the folder belongs to a workspace that the one above it has.
  const isOwn = isNew || shownBy === undefined || shownBy === project;
  const files = isOwn ? { ...OWN_FILES[manager] } : {};
  for (const file of listFiles(TEMPLATE)) {
    files[RENAMED[file] ?? file] = fillIn(file, project, values, isOwn);
  }
  return files;
}

function fillIn(file: string, project: string, { name, manager }: Values, isOwn: boolean): string {
  if (file === MANIFEST) {
    const manifest = manifestFor(project, name);
    // npm reads it of the folder alone that it installs.
    if (isOwn && manager === "npm") manifest.allowScripts = ALLOW_SCRIPTS;
    return `${JSON.stringify(manifest, null, 2)}\n`;
  }
  const content = readTemplate(file);
  if (file !== "README.md") return content;
  return content
    .replace(/\bnpm run (\w+)/g, (_, script: string) => runScript(project, manager, script))
    .replace(/\bnpm install/g, `${manager} install`);
}

function manifestFor(project: string, name: string): Manifest {
  const template = templateManifest();
  const dependencies = { ...template.dependencies, kit: kitDependency(project) };
  const manifest = { ...template, name, dependencies };
  const settings = readText(join(project, TSCONFIG));
  // Theirs may write files, and judge by other rules.
  if (settings !== undefined && settings !== readTemplate(TSCONFIG)) {
    delete manifest.scripts?.typecheck;
    delete manifest.devDependencies?.typescript;
  }
  return manifest;
}

function templateManifest(): Manifest {
  return JSON.parse(readTemplate(MANIFEST)) as Manifest;
}

function readTemplate(file: string): string {
  return readFileSync(join(TEMPLATE, file), "utf8");
}

/** Folder by folder: Yarn, which has packages in archives, does not list them recursively. */
function listFiles(directory: string, folder = ""): string[] {
  return readdirSync(join(directory, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? listFiles(directory, path) : [path];
  });
}

/** Returns undefined for what is not a file. */
export function readText(path: string): string | undefined {
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile();
  return isFile ? readFileSync(path, "utf8") : undefined;
}
