import { existsSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeDirectory, writeFileAtomically } from "../../disk/file.ts";
import { type Values, MANIFEST, TSCONFIG, filesFor, readText } from "./content.ts";
import { type Merged, keepTsconfig, mergeGitignore, mergeManifest, mergeSetting } from "./merge.ts";

/** How a file that is there already gets what it lacks. */
const MERGES: Record<string, (text: string, ours: string) => Merged> = {
  ".gitignore": mergeGitignore,
  [MANIFEST]: mergeManifest,
  [TSCONFIG]: keepTsconfig,
  "pnpm-workspace.yaml": mergeSetting,
  "yarn.lock": (text) => ({ text, added: [], kept: [] }),
};

/** What became of each file; one that is as the template's is in no list. */
export interface Report {
  /** `data/train.jsonl` */
  created: string[];
  /** `package.json (scripts.ui, scripts.build)` */
  added: string[];
  /** `README.md`, `package.json (scripts.train)` */
  kept: string[];
}

/** Copies the quickstart into a folder; what is there already is added to, never overwritten. */
export function copyTemplate(project: string, values: Values): Report {
  const report: Report = { created: [], added: [], kept: [] };
  const { [MANIFEST]: manifest = "", ...files } = filesFor(project, values);
  // The manifest is the last: a copy that was interrupted is seen by its absence.
  for (const [file, content] of Object.entries({ ...files, [MANIFEST]: manifest })) {
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
  const text = readText(path);
  if (!how || text === undefined) return undefined;
  const merged = how(text, ours);
  // Through a symbolic link, to the file that it names.
  if (merged.text !== text) writeFileAtomically(realpathSync(path), merged.text);
  return merged;
}
