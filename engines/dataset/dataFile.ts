import {
  closeSync,
  existsSync,
  constants as fsConstants,
  fstatSync,
  openSync,
  readdirSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { didYouMean } from "../../protocol/didYouMean.ts";
import { KitError } from "../../protocol/error.ts";

/**
 * Opens a data file. Doesn't block on a pipe without a writer. A folder can be opened, but reading it fails.
 * @throws KitError `DATASET_UNREADABLE`
 */
export function openDataFile(path: string): number {
  return withReadError(path, () => openRegularFile(path));
}

function openRegularFile(path: string): number {
  const file = openSync(path, fsConstants.O_RDONLY | fsConstants.O_NONBLOCK);
  const stats = fstatSync(file);
  if (stats.isFile() || stats.isDirectory()) return file;
  closeSync(file);
  throw new Error("it is not a regular file");
}

const PROBLEMS: Record<string, string> = {
  ENOENT: "there is no such file",
  EISDIR: "it is a folder, not a file",
};

/** @throws KitError `DATASET_UNREADABLE` when the reading fails */
export function withReadError<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

/** @param cause thrown by opening or reading the file */
function unreadable(path: string, cause: unknown): KitError {
  const { code, message } = cause as NodeJS.ErrnoException;
  const why = PROBLEMS[code ?? ""] ?? message;
  const advice =
    (code === "EISDIR" ? adviceForFolder(path) : undefined) ??
    (code === "ENOENT" ? adviceForMissing(path) : undefined) ??
    "Check its path.";
  const problem = `Cannot read the dataset ${path}: ${why}. ${advice}`;
  return new KitError("DATASET_UNREADABLE", problem, { cause });
}

const DATA_FILE = /\.(arrow|(?:jsonl|csv|tsv|parquet|json)(?:\.gz)?)$/i;
/** Files that `datasets` saves beside the data. */
const METADATA_FILE = /^(dataset_infos?|dataset_dict|state|config)\.json$/;

/** A sentence that names the data files in a folder; undefined without any. */
function adviceForFolder(folder: string): string | undefined {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    const extension = extensionOf(entries.map(({ name }) => name));
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    const inner =
      extension ?? extensionOf(folders.flatMap((name) => readdirSync(join(folder, name))));
    if (inner === undefined) return undefined;
    if (inner === "arrow") {
      return `Save its rows as Parquet: datasets.load_from_disk("${folder}").to_parquet("rows.parquet").`;
    }
    return `Name the files in it: ${join(folder, extension ? "" : "**", `*.${inner}`)}.`;
  } catch {
    // The folder itself is already reported.
    return undefined;
  }
}

/**
 * A sentence that suggests an existing file for a missing path: the same name one folder down, a similar
 * name in the same folder, or either in a similarly named folder. Undefined without one.
 */
function adviceForMissing(path: string): string | undefined {
  const folder = dirname(path);
  if (existsSync(folder)) {
    const closest = closestIn(folder, basename(path));
    return closest && `Did you mean "${closest}"?`;
  }
  const similarFolder = closestIn(dirname(folder), basename(folder));
  const file = similarFolder && closestIn(join(dirname(folder), similarFolder), basename(path));
  return file && `Did you mean "${similarFolder}/${file}"?`;
}

function closestIn(folder: string, name: string): string | undefined {
  try {
    const names = readdirSync(folder);
    if (names.includes(name)) return name;
    const below = names
      .filter((inner) => !/^(\.|node_modules$)/.test(inner))
      .map((inner) => join(inner, name));
    const found = below.find((file) => existsSync(join(folder, file)));
    if (found !== undefined) return found;
    // Names are compared without extensions.
    const stems = names.map(stemOf);
    const stem = /"(.+)"/.exec(didYouMean(stemOf(name), stems))?.[1];
    return names[stems.indexOf(stem ?? stemOf(name))];
  } catch {
    return undefined;
  }
}

function stemOf(name: string): string {
  return name.replace(DATA_FILE, "");
}

/** The most common extension of the data files. */
function extensionOf(names: string[]): string | undefined {
  const counts = new Map<string, number>();
  for (const name of names) {
    const extension = METADATA_FILE.test(name) ? undefined : DATA_FILE.exec(name)?.[1];
    if (extension !== undefined) counts.set(extension, (counts.get(extension) ?? 0) + 1);
  }
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0];
}
