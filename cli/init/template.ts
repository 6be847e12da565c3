import {
  existsSync,
  readFileSync,
  readdirSync,
  realpathSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { makeDirectory, writeFileAtomically } from "../../jobs/file.ts";
import { kitDependency } from "../packages/kitDependency.ts";
import type { Installation, PackageManager } from "../packages/manager.ts";
import type { Manifest } from "../packages/manifest.ts";
import { PACKAGE } from "../packages/own.ts";
import { type Merged, mergeGitignore, mergeManifest, mergeSetting } from "./merge.ts";

const TEMPLATE = join(PACKAGE.templates, "quickstart");
const MANIFEST = "package.json";

/** npm leaves `.gitignore` out of a package, so the template has it under another name. */
const RENAMED: Record<string, string> = { gitignore: ".gitignore" };

/** How a file that is there already gets what it lacks. */
const MERGES: Record<string, (text: string, ours: string) => Merged> = {
  ".gitignore": mergeGitignore,
  [MANIFEST]: mergeManifest,
  "pnpm-workspace.yaml": mergeSetting,
  "yarn.lock": (text) => ({ text, added: [], kept: [] }),
};

/** What a package manager needs in a folder that is a project of its own, whatever is above it. */
const OWN_FILES: Partial<Record<PackageManager, Record<string, string>>> = {
  // esbuild's install script only checks its binary; pnpm fails on one that nobody has judged.
  pnpm: { "pnpm-workspace.yaml": "allowBuilds:\n  esbuild: false\n" },
  yarn: { "yarn.lock": "" },
};

export interface Values extends Installation {
  /** The package's name. */
  name: string;
}

/** What became of files that were there already. */
export interface Report {
  /** `package.json (scripts.ui, scripts.build)` */
  added: string[];
  /** `README.md`, `package.json (scripts.train)` */
  kept: string[];
}

/** Copies the quickstart into a folder; what is there already is added to, never overwritten. */
export function copyTemplate(project: string, values: Values): Report {
  const report: Report = { added: [], kept: [] };
  const { [MANIFEST]: manifest = "", ...files } = filesFor(project, values);
  // The manifest is the last: a copy that was interrupted is seen by its absence.
  for (const [file, content] of Object.entries({ ...files, [MANIFEST]: manifest })) {
    const path = join(project, file);
    if (writeNew(path, content)) continue;
    const merged = merge(path, content, MERGES[file]);
    if (!merged) report.kept.push(file);
    if (merged?.added.length) report.added.push(`${file} (${merged.added.join(", ")})`);
    if (merged?.kept.length) report.kept.push(`${file} (${merged.kept.join(", ")})`);
  }
  return report;
}

/** The content of each file, by its path in the project. */
function filesFor(project: string, values: Values): Record<string, string> {
  const { manager, shownBy } = values;
  const isNew = !existsSync(join(project, MANIFEST));
  // Else the folder belongs to a workspace that the one above it has.
  const isOwn = isNew || shownBy === undefined || shownBy === project;
  const files = isOwn ? { ...OWN_FILES[manager] } : {};
  for (const file of listFiles(TEMPLATE)) {
    files[RENAMED[file] ?? file] = fillIn(file, project, values);
  }
  return files;
}

/** Returns whether the file was written: one that exists is not. */
function writeNew(path: string, content: string): boolean {
  // A link to a folder is as good.
  if (!existsSync(dirname(path))) makeDirectory(dirname(path));
  try {
    writeFileSync(path, content, { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Returns undefined for what is not a file to add to. */
function merge(path: string, ours: string, how?: (typeof MERGES)[string]): Merged | undefined {
  if (!how || !statSync(path, { throwIfNoEntry: false })?.isFile()) return undefined;
  const text = readFileSync(path, "utf8");
  const merged = how(text, ours);
  // Through a symbolic link, to the file that it names.
  if (merged.text !== text) writeFileAtomically(realpathSync(path), merged.text);
  return merged;
}

function fillIn(file: string, project: string, { name, manager }: Values): string {
  const content = readFileSync(join(TEMPLATE, file), "utf8");
  if (file === "README.md") return content.replace(/\bnpm (?=install|run)/g, `${manager} `);
  if (file !== MANIFEST) return content;
  const manifest = JSON.parse(content) as Manifest;
  const dependencies = { ...manifest.dependencies, kit: kitDependency(project) };
  return `${JSON.stringify({ ...manifest, name, dependencies }, null, 2)}\n`;
}

/** Folder by folder: Yarn, which has packages in archives, does not list them recursively. */
function listFiles(directory: string, folder = ""): string[] {
  return readdirSync(join(directory, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? listFiles(directory, path) : [path];
  });
}
