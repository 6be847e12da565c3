import { existsSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeDirectory, writeFileAtomically } from "../../disk/file.ts";
import { type Values, PACKAGE_JSON, TSCONFIG, filesFor, readText } from "./content.ts";
import {
  type Merged,
  keepTsconfig,
  mergeGitignore,
  mergePackageJson,
  mergeSetting,
} from "./merge.ts";

/** How to add the template's parts to an existing file. */
const MERGES: Record<string, (text: string, ours: string) => Merged> = {
  ".gitignore": mergeGitignore,
  [PACKAGE_JSON]: mergePackageJson,
  [TSCONFIG]: keepTsconfig,
  "pnpm-workspace.yaml": mergeSetting,
  "yarn.lock": (text) => ({ text, added: [], kept: [] }),
};

/** The outcome for each file. Files identical to the template's are not listed. */
export interface Report {
  /** `data/train.jsonl` */
  created: string[];
  /** `package.json (scripts.ui, scripts.build)` */
  added: string[];
  /** `README.md`, `package.json (scripts.train)` */
  kept: string[];
}

/** Copies a template into a folder. Adds to existing files and never overwrites. */
export function copyTemplate(project: string, values: Values): Report {
  const report: Report = { created: [], added: [], kept: [] };
  const { [PACKAGE_JSON]: packageJson = "", ...files } = filesFor(project, values);
  // package.json comes last: its absence shows that a copy was interrupted.
  for (const [file, content] of Object.entries({ ...files, [PACKAGE_JSON]: packageJson })) {
    const path = join(project, file);
    if (writeNew(path, content)) {
      report.created.push(file);
      continue;
    }
    const merged = merge(path, content, MERGES[file]);
    if (!merged && readText(path) !== content) report.kept.push(file);
    if (merged?.added.length) report.added.push(`${file} (${merged.added.join(", ")})`);
    if (merged?.kept.length) report.kept.push(`${file} (${merged.kept.join(", ")})`);
  }
  return report;
}

/** Returns false, and writes nothing, if the file exists. */
function writeNew(path: string, content: string): boolean {
  // A link to a folder is fine.
  if (!existsSync(dirname(path))) makeDirectory(dirname(path));
  try {
    writeFileSync(path, content, { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Returns undefined if the path can't be merged. */
function merge(path: string, ours: string, how?: (typeof MERGES)[string]): Merged | undefined {
  const text = readText(path);
  if (!how || text === undefined) return undefined;
  const merged = how(text, ours);
  // Writes through a symbolic link instead of replacing it.
  if (merged.text !== text) writeFileAtomically(realpathSync(path), merged.text);
  return merged;
}
