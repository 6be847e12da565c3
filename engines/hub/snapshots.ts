import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { isCommit } from "./hubName.ts";

/** A commit of a model in the cache. */
export interface Snapshot {
  /** `org/name`, with `@revision` unless that is `main`. */
  name: string;
  /** Absolute path. */
  directory: string;
  /** Total of all its files. */
  bytes: number;
}

/** All in the cache, by their names in alphabetical order. */
export function listSnapshots(cache: string): Snapshot[] {
  const repos = namesIn(cache).filter((name) => name.startsWith("models--"));
  const all = repos.flatMap((repo) =>
    snapshotsOf(join(cache, repo), repo.split("--").slice(1).join("/")),
  );
  return all.toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

function snapshotsOf(folder: string, repo: string): Snapshot[] {
  const revisions = new Map(
    filesIn(join(folder, "refs")).map((revision) => [
      readFileSync(join(folder, "refs", revision), "utf8").trim(),
      revision,
    ]),
  );
  const commits = namesIn(join(folder, "snapshots")).filter(isCommit);
  return commits.map((commit) => {
    const revision = revisions.get(commit) ?? commit;
    const directory = join(folder, "snapshots", commit);
    const sizes = filesIn(directory).map(
      (file) => statSync(join(directory, file), { throwIfNoEntry: false })?.size ?? 0,
    );
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    return { name: revision === "main" ? repo : `${repo}@${revision}`, directory, bytes };
  });
}

/** Those of a folder, in order; none without it. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).toSorted();
  } catch {
    // Nothing was downloaded yet.
    return [];
  }
}

/** Paths of the files and links below a folder, with forward slashes. */
function filesIn(folder: string): string[] {
  return namesIn(folder).flatMap((name) => {
    const isFolder = statSync(join(folder, name), { throwIfNoEntry: false })?.isDirectory();
    return isFolder ? filesIn(join(folder, name)).map((below) => `${name}/${below}`) : [name];
  });
}
