import { existsSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeDirectory, writeFileAtomically } from "../../disk/file.ts";
import {
  type Values,
  PACKAGE_JSON,
  TSCONFIG,
  filesFor,
  haveSameLines,
  readText,
} from "./content.ts";
import {
  type Merged,
  keepTsconfig,
  mergeGitignore,
  mergePackageJson,
  mergeSetting,
} from "./merge.ts";

/** Adds the template's parts to an existing file's text. */
type Merge = (text: string, templateText: string) => Merged;

const MERGES: Record<string, Merge> = {
  ".gitignore": mergeGitignore,
  [PACKAGE_JSON]: mergePackageJson,
  [TSCONFIG]: keepTsconfig,
  "pnpm-workspace.yaml": mergeSetting,
  "yarn.lock": (text) => ({ text, added: [], leftAlone: [] }),
};

/** The outcome for each file. Files identical to the template's are not listed. */
export interface Report {
  /** `data/train.jsonl` */
  created: string[];
  /** `package.json (scripts.ui, scripts.build)` */
  added: string[];
  /** `README.md`, `package.json (scripts.train)` */
  leftAlone: string[];
}

/** Copies a template into a folder. Adds to existing files and never overwrites. */
export function copyTemplate(project: string, values: Values): Report {
  const report: Report = { created: [], added: [], leftAlone: [] };
  const { [PACKAGE_JSON]: packageJson = "", ...files } = filesFor(project, values);
  // package.json comes last: its absence shows that a copy was interrupted.
  for (const [file, content] of Object.entries({ ...files, [PACKAGE_JSON]: packageJson })) {
    const path = join(project, file);
    if (writeNew(path, content)) {
      report.created.push(file);
      continue;
    }
    const merged = merge(path, content, MERGES[file]);
    if (!merged && !haveSameLines(readText(path) ?? "", content)) report.leftAlone.push(file);
    if (merged?.added.length) report.added.push(`${file} (${merged.added.join(", ")})`);
    if (merged?.leftAlone.length) report.leftAlone.push(`${file} (${merged.leftAlone.join(", ")})`);
  }
  return report;
}

/** Returns false, and writes nothing, if the file exists. */
function writeNew(path: string, content: string): boolean {
  // The folder may be a symbolic link.
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
function merge(path: string, templateText: string, mergeTexts?: Merge): Merged | undefined {
  const text = readText(path);
  if (!mergeTexts || text === undefined) return undefined;
  const merged = mergeTexts(text, templateText);
  // Writes through a symbolic link instead of replacing it.
  if (merged.text !== text) writeFileAtomically(realpathSync(path), merged.text);
  return merged;
}
