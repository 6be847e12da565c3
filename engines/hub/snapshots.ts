import { type Dirent, readSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { readRegularFile } from "../../disk/file.ts";
import { sizeOf } from "./hubCache.ts";
import { isCommit } from "./hubName.ts";

/** A commit of a model in the cache. */
export interface Snapshot {
  /** `org/name`, with `@revision` unless that is `main`. */
  name: string;
  /** Absolute path. */
  directory: string;
  /** Total size of its files. */
  bytes: number;
}

/** All snapshots in the cache, sorted by name. */
export function listSnapshots(cache: string): Snapshot[] {
  const repos = namesIn(cache).filter((name) => name.startsWith("models--"));
  const all = repos.flatMap((repo) =>
    snapshotsOf(join(cache, repo), repo.split("--").slice(1).join("/")),
  );
  return all.toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

function snapshotsOf(folder: string, repo: string): Snapshot[] {
  const refs = join(folder, "refs");
  const revisions = new Map(
    filesIn(refs).map((revision) => [readRef(join(refs, revision)), revision]),
  );
  const commits = namesIn(join(folder, "snapshots")).filter(isCommit);
  return commits.map((commit) => {
    const revision = revisions.get(commit) ?? commit;
    const directory = join(folder, "snapshots", commit);
    const sizes = filesIn(directory).map((file) => sizeOf(join(directory, file)));
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    return { name: revision === "main" ? repo : `${repo}@${revision}`, directory, bytes };
  });
}

/** A folder's entries; none if it is missing. */
function entriesIn(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    // Nothing downloaded yet, or another user's folder.
    return [];
  }
}

function namesIn(folder: string): string[] {
  return entriesIn(folder).map(({ name }) => name);
}

/** Paths of the files and links below a folder, with forward slashes. Follows no links, which could loop. */
function filesIn(folder: string): string[] {
  return entriesIn(folder).flatMap((entry) => {
    const { name } = entry;
    if (!entry.isDirectory()) return [name];
    return filesIn(join(folder, name)).map((below) => `${name}/${below}`);
  });
}

/** More than a commit hash has, so that longer content is found to be invalid. */
const MAX_REF_BYTES = 64;

/** The commit that a branch last resolved to; undefined if unknown. */
export function readRef(path: string): string | undefined {
  const bytes = Buffer.alloc(MAX_REF_BYTES);
  const read = readRegularFile(path, 0, (file) => readSync(file, bytes));
  const commit = bytes.toString("utf8", 0, read).trim();
  return isCommit(commit) ? commit : undefined;
}
