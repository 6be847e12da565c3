import { existsSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { join, parse, relative, resolve, sep } from "node:path";
import type * as tinyglobby from "tinyglobby";
import { type DatasetPath, datasetPaths } from "../../protocol/dataset.ts";
import { KitError } from "../../protocol/error.ts";
import { isUrl } from "../../protocol/url.ts";

/**
 * The files of a dataset: in the order of its paths, those of a pattern sorted, each file once. URLs
 * stay as they are.
 * @throws KitError `DATASET_UNREADABLE` for a pattern that matches no file
 */
export function datasetFiles(path: DatasetPath): string[] {
  const files = new Map<string, string>();
  for (const file of datasetPaths(path).flatMap(filesOf)) {
    const target = realPath(file);
    if (!files.has(target)) files.set(target, file);
  }
  return [...files.values()];
}

function filesOf(path: string): string[] {
  if (isUrl(path)) return [path];
  const { folder, rest } = splitAtPattern(path);
  if (rest === "") return [path];
  // Loading it takes longer than reading a small dataset, and few paths are patterns.
  const require = createRequire(import.meta.url);
  const { globSync, isDynamicPattern } = require("tinyglobby") as typeof tinyglobby;
  if (!isDynamicPattern(rest)) return [path];
  const found = globSync(rest, { cwd: folder, absolute: true, expandDirectories: false });
  if (found.length > 0) return found.sort();
  throw new KitError(
    "DATASET_UNREADABLE",
    `No file matches the dataset's pattern ${path}. Check its path, which is relative to the project.`,
  );
}

/** Only what doesn't exist can be a pattern: a folder may be named `[old]`. */
function splitAtPattern(path: string): { folder: string; rest: string } {
  const absolute = resolve(path);
  let folder = parse(absolute).root;
  const parts = relative(folder, absolute).split(sep);
  while (parts[0] !== undefined && existsSync(join(folder, parts[0]))) {
    folder = join(folder, parts[0]);
    parts.shift();
  }
  return { folder, rest: parts.join("/") };
}

function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    // Reading the file will say why.
    return file;
  }
}
