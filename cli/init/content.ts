import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { listFiles } from "../../disk/listFiles.ts";
import { PACKAGE, kitDependency } from "../packages/kitPackage.ts";
import { type DetectedManager, type PackageManager, runKitCommand } from "../packages/manager.ts";
import { type PackageJson, readPackageJson } from "../packages/packageJson.ts";

/** The projects that `kit init` creates. */
export const TEMPLATES = ["quickstart", "finetune"] as const;
export type Template = (typeof TEMPLATES)[number];

export const PACKAGE_JSON = "package.json";
export const TSCONFIG = "tsconfig.json";

/** Files of the quickstart that every template has. */
const SHARED_FILES = [
  "AGENTS.md",
  "package.json",
  "tsconfig.json",
  "gitignore",
  "src/kit/index.ts",
];

/** npm never packs a `.gitignore`, so the template stores it under another name. */
const RENAMED: Record<string, string> = { gitignore: ".gitignore" };

// npm warns about undecided install scripts, and pnpm fails. Both packages work without theirs.
const ALLOW_SCRIPTS = { esbuild: false, webgpu: false };
const DENIED_BUILDS = Object.keys(ALLOW_SCRIPTS).map((name) => `  ${name}: false`);

/** Files that make a folder a project of its own, independent of the folders above it. */
const OWN_FILES: Partial<Record<PackageManager, Record<string, string>>> = {
  pnpm: { "pnpm-workspace.yaml": ["allowBuilds:", ...DENIED_BUILDS, ""].join("\n") },
  yarn: { "yarn.lock": "" },
};

export interface Values extends DetectedManager {
  /** The package's name. */
  name: string;
  template: Template;
}

/** The command for a template's script, even if the project has another script of that name. */
export function runScript(project: string, manager: PackageManager, script: string): string {
  const templateScript = templatePackageJson().scripts?.[script] ?? "";
  const projectScript = readPackageJson(project)?.scripts?.[script] ?? templateScript;
  return projectScript === templateScript
    ? `${manager} run ${script}`
    : templateScript.replaceAll(/\bkit\b/g, runKitCommand(manager));
}

/** Maps each file's path in the project to its content. */
export function filesFor(project: string, values: Values): Record<string, string> {
  const { manager, foundIn } = values;
  const isNew = !existsSync(join(project, PACKAGE_JSON));
  // Otherwise the workspace above owns the folder.
  const isOwnProject = isNew || foundIn === undefined || foundIn === project;
  const files = isOwnProject ? { ...OWN_FILES[manager] } : {};
  for (const file of new Set([...SHARED_FILES, ...listFiles(folderOf(values.template))])) {
    files[RENAMED[file] ?? file] = contentOf(file, project, values, isOwnProject);
  }
  return files;
}

function contentOf(file: string, project: string, values: Values, isOwnProject: boolean): string {
  const { name, manager, template } = values;
  if (file === PACKAGE_JSON) {
    const packageJson = packageJsonFor(project, name);
    // npm reads allowScripts only from the root of an installation.
    if (isOwnProject && manager === "npm") packageJson.allowScripts = ALLOW_SCRIPTS;
    return `${JSON.stringify(packageJson, null, 2)}\n`;
  }
  const content = readTemplate(file, template);
  if (!file.endsWith(".md")) return content;
  return content
    .replace(/\bnpm run (\w+)/g, (_, script: string) => runScript(project, manager, script))
    .replace(/\bnpx kit\b/g, (command) => (manager === "npm" ? command : runKitCommand(manager)))
    .replace(/\bnpm install/g, `${manager} install`);
}

function packageJsonFor(project: string, name: string): PackageJson {
  const template = templatePackageJson();
  const dependencies = { ...template.dependencies, kit: kitDependency(project) };
  const packageJson = { ...template, name, dependencies };
  const settings = readText(join(project, TSCONFIG));
  // With the project's own settings, tsc may write files or apply other rules.
  if (settings !== undefined && !haveSameLines(settings, readTemplate(TSCONFIG))) {
    delete packageJson.scripts?.typecheck;
    delete packageJson.devDependencies?.typescript;
  }
  return packageJson;
}

function templatePackageJson(): PackageJson {
  return JSON.parse(readTemplate(PACKAGE_JSON)) as PackageJson;
}

function readTemplate(file: string, template: Template = "quickstart"): string {
  const from = SHARED_FILES.includes(file) ? "quickstart" : template;
  return readFileSync(join(folderOf(from), file), "utf8");
}

function folderOf(template: Template): string {
  return join(PACKAGE.templates, template);
}

/** Returns undefined if the path is not a file. */
export function readText(path: string): string | undefined {
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile();
  return isFile ? readFileSync(path, "utf8") : undefined;
}

/** Whether two texts are the same but for their line ends, which git changes on Windows. */
export function haveSameLines(a: string, b: string): boolean {
  return a.replaceAll("\r\n", "\n") === b.replaceAll("\r\n", "\n");
}
