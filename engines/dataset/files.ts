import { existsSync, realpathSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join, normalize, parse, relative, resolve, sep } from "node:path";
import type * as tinyglobby from "tinyglobby";
import { type DatasetPath, datasetPaths } from "../../protocol/dataset.ts";
import { KitError } from "../../protocol/error.ts";
import type { TrainingOptions } from "../../protocol/trainConfig.ts";
import { isUrl } from "../../protocol/url.ts";

/**
 * The files of a dataset in the order of its paths, those of a pattern sorted, without duplicates. URLs
 * stay as they are.
 * @throws KitError `DATASET_UNREADABLE` for a pattern that matches no file
 */
export function datasetFiles(path: DatasetPath): string[] {
  const files = new Map<string, string>();
  for (const file of datasetPaths(path).flatMap(filesOf)) {
    const identity = identityOf(file);
    if (!files.has(identity)) files.set(identity, file);
  }
  return [...files.values()];
}

function filesOf(path: string): string[] {
  if (isUrl(path)) return [path];
  const { folder, rest } = splitAtPattern(path);
  if (rest === "") return [path];
  // Loaded lazily: few paths are patterns, and loading takes longer than reading a small dataset.
  const require = createRequire(import.meta.url);
  const { globSync, isDynamicPattern } = require("tinyglobby") as typeof tinyglobby;
  if (!isDynamicPattern(rest)) return [path];
  const found = globSync(rest, { cwd: folder, absolute: true, expandDirectories: false });
  // The pattern's separators are slashes, also on Windows.
  if (found.length > 0) return found.map((file) => normalize(file)).sort();
  throw new KitError(
    "DATASET_UNREADABLE",
    `No file matches the dataset's pattern ${path}. Check its path.`,
  );
}

/** Existing folders are never patterns: one may be named `[old]`. */
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

/** The same for all names of a file: links, and other cases on a disk that ignores case. */
function identityOf(file: string): string {
  try {
    const { dev, ino } = statSync(file, { bigint: true });
    return ino === 0n ? realpathSync(file) : `${dev} ${ino}`;
  } catch {
    // Reading the file reports the problem.
    return file;
  }
}

/** URLs that Ray Train's storage accepts; `file:` must not name another machine. */
const SUPPORTED_URL = /^(?!https?:|file:\/\/[^/])[a-z][^\p{Cc}\s]*$/iu;

/**
 * Refuses URLs as datasets, for an engine that reads datasets on this machine.
 * @throws KitError `CONFIG_INVALID`
 */
export function refuseUrls(engine: string, options: TrainingOptions): void {
  const [url] = urlsOf(options);
  if (url === undefined) return;
  throw new KitError(
    "CONFIG_INVALID",
    `The ${engine} engine reads datasets on this machine, but ${url} is a URL. Name a downloaded file; only the workers of ray() read URLs.`,
  );
}

/**
 * Refuses unsupported URLs as datasets, for an engine whose workers read URLs through Arrow's file systems.
 * @throws KitError `CONFIG_INVALID`
 */
export function checkUrls(options: TrainingOptions): void {
  for (const url of urlsOf(options)) {
    if (url.includes("*")) {
      throw new KitError(
        "CONFIG_INVALID",
        `A dataset's URL names one file, so ${url} cannot be a pattern. Use a list of URLs.`,
      );
    }
    if (!SUPPORTED_URL.test(url)) {
      throw new KitError(
        "CONFIG_INVALID",
        `The workers cannot read the dataset ${url}. Use a URL such as s3://bucket/train.jsonl or file:///data/train.jsonl, with %20 in place of a space.`,
      );
    }
  }
}

function urlsOf({ dataset, evalDataset }: TrainingOptions): string[] {
  return [dataset, evalDataset]
    .flatMap((config) => (config ? datasetPaths(config.path) : []))
    .filter(isUrl);
}
