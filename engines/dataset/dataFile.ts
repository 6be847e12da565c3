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
 * Doesn't wait for a writer at the other end of a pipe. A folder opens, too: reading it fails.
 * @throws KitError `DATASET_UNREADABLE`
 */
export function openDataFile(path: string): number {
  return readable(path, () => openPlainFile(path));
}

function openPlainFile(path: string): number {
  const file = openSync(path, fsConstants.O_RDONLY | fsConstants.O_NONBLOCK);
  const stats = fstatSync(file);
  if (stats.isFile() || stats.isDirectory()) return file;
  closeSync(file);
  throw new Error("it is not a plain file");
}

const PROBLEMS: Record<string, string> = {
  ENOENT: "there is no such file",
  EISDIR: "it is a folder, not a file",
};

/** @throws KitError `DATASET_UNREADABLE` when the reading fails */
export function readable<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

/** @param cause what opening or reading the file has thrown */
function unreadable(path: string, cause: unknown): KitError {
  const { code, message } = cause as NodeJS.ErrnoException;
  const why = PROBLEMS[code ?? ""] ?? message;
  const advice =
    (code === "EISDIR" ? adviceForFolder(path) : undefined) ??
    (code === "ENOENT" ? adviceForMissing(path) : undefined) ??
    "Check its path, which is relative to the project.";
  const problem = `Cannot read the dataset ${path}: ${why}. ${advice}`;
  return new KitError("DATASET_UNREADABLE", problem, { cause });
}

const DATA_FILE = /\.(arrow|(?:jsonl|csv|tsv|parquet|json)(?:\.gz)?)$/i;
/** Beside the data of `datasets`. */
const NO_DATA = /^(dataset_infos?|dataset_dict|state|config)\.json$/;

/** What to write in place of a folder's path, as a sentence; undefined without files of data in it. */
function adviceForFolder(folder: string): string | undefined {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    const own = endingOf(entries.map(({ name }) => name));
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    const inner = own ?? endingOf(folders.flatMap((name) => readdirSync(join(folder, name))));
    if (inner === undefined) return undefined;
    if (inner === "arrow") {
      return `Save its rows as Parquet: datasets.load_from_disk("${folder}").to_parquet("rows.parquet").`;
    }
    return `Name the files in it: ${join(folder, own ? "" : "**", `*.${inner}`)}.`;
  } catch {
    // The folder is the problem already, whatever else it has.
    return undefined;
  }
}

/**
 * What to write in place of a path where there is no file, as a sentence: one of its name in a folder
 * beside it, or one beside it or below a folder beside its own whose name is close. Undefined where there
 * is none.
 */
function adviceForMissing(path: string): string | undefined {
  const folder = dirname(path);
  if (existsSync(folder)) {
    const meant = meantIn(folder, basename(path));
    return meant && `Did you mean "${meant}"?`;
  }
  const near = meantIn(dirname(folder), basename(folder));
  const file = near && meantIn(join(dirname(folder), near), basename(path));
  return file && `Did you mean "${near}/${file}"?`;
}

function meantIn(folder: string, name: string): string | undefined {
  try {
    const names = readdirSync(folder);
    if (names.includes(name)) return name;
    const below = names
      .filter((inner) => !/^(\.|node_modules$)/.test(inner))
      .map((inner) => join(inner, name));
    const found = below.find((file) => existsSync(join(folder, file)));
    if (found !== undefined) return found;
    // The ending is not what makes two names alike.
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

/** The ending that most files of data have. */
function endingOf(names: string[]): string | undefined {
  const counts = new Map<string, number>();
  for (const name of names) {
    const ending = NO_DATA.test(name) ? undefined : DATA_FILE.exec(name)?.[1];
    if (ending !== undefined) counts.set(ending, (counts.get(ending) ?? 0) + 1);
  }
  return [...counts].sort(([, one], [, other]) => other - one)[0]?.[0];
}
