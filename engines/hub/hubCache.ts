import { randomUUID } from "node:crypto";
import { existsSync, lstatSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { writeFileAtomically } from "../../disk/file.ts";
import { move } from "../../disk/move.ts";
import { hasAllFiles } from "../modelFiles/names.ts";
import { type HubName, isCommit } from "./hubName.ts";
import { readRef } from "./snapshots.ts";

/** A commit of a repository in the cache. */
export interface HubSnapshot {
  /** Absolute path of the folder with links to its files. */
  directory: string;
  commit: string;
}

/** Permissions before the umask: several users may share the cache. */
const SHARED = 0o666;

/**
 * A repository in the cache layout of Python's `huggingface_hub`: files in `blobs` by hash, with links
 * from `snapshots/<commit>/<path>`. `refs/<branch>` holds the branch's commit; an empty
 * `.no_exist/<commit>/<path>` marks a file that the commit lacks.
 * Source: huggingface.co/docs/huggingface_hub/guides/manage-cache.
 * @param cache absolute path of the folder of all repositories
 */
export function openCache(cache: string, { repoType, repo }: HubName) {
  const name = `${repoType}s--${repo.replace("/", "--")}`;
  const folder = join(cache, name);
  const snapshotPath = (commit: string) => join(folder, "snapshots", commit);
  const blobPath = (hash: string) => join(folder, "blobs", hash);
  const absencePath = (commit: string, file: string) => join(folder, ".no_exist", commit, file);
  const refPath = (revision: string) => join(folder, "refs", revision);

  /** The commit that a revision last resolved to. */
  const commitOf = (revision: string) =>
    isCommit(revision) ? revision : readRef(refPath(revision));

  /**
   * Creates a folder unless it exists. Refuses symbolic links: in a shared cache, they could point to
   * files of the downloading user.
   */
  function makeFolder(path: string): void {
    let at = cache;
    for (const name of relative(cache, path).split(sep)) {
      at = join(at, name);
      const isLink = lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink();
      if (isLink) throw new Error(`${at} is a symbolic link`);
    }
    mkdirSync(path, { recursive: true });
  }

  /** Writes atomically. */
  function write(path: string, text: string): void {
    makeFolder(dirname(path));
    writeFileAtomically(path, text, { mode: SHARED });
  }

  return {
    commitOf,
    snapshotPath,
    blobPath,
    /** Kit's own record of a commit's files. */
    listingPath: (commit: string) => join(folder, ".kit", `${commit}.json`),
    /** @throws Error if it can't be created, or is a link */
    makeBlobsFolder: () => makeFolder(join(folder, "blobs")),
    /** Path of an incomplete download. Python's name would be unsafe: old versions of `huggingface_hub` append to it. */
    partialPath: (hash: string) => blobPath(`${hash}.kit.incomplete`),
    /** Python doesn't see this lock: its own is a `flock`, which Node lacks. Both only rename complete files, so that is safe. */
    lockPath: (hash: string) => join(cache, ".locks", name, `${hash}.kit.lock`),

    /** The model at the commit that a revision last resolved to; undefined if incomplete. */
    find(revision: string): HubSnapshot | undefined {
      const commit = commitOf(revision);
      const directory = commit && snapshotPath(commit);
      return commit && directory && hasAllFiles(directory) ? { directory, commit } : undefined;
    },

    /** Whether each file is either cached or known to be absent from the commit. */
    isComplete({ directory, commit }: HubSnapshot, files: string[]): boolean {
      return files.every(
        (file) => existsSync(join(directory, file)) || existsSync(absencePath(commit, file)),
      );
    },

    /** Records, also for Python, that a commit has no such file. */
    noteAbsence(commit: string, file: string): void {
      const path = absencePath(commit, file);
      try {
        makeFolder(dirname(path));
        writeFileSync(path, "", { flag: "wx" });
      } catch {
        // Already recorded; or not writable, so the next download asks the hub again.
      }
    },

    /** Links a complete blob into a commit's snapshot. */
    link(commit: string, file: string, hash: string): void {
      const path = join(snapshotPath(commit), file);
      makeFolder(dirname(path));
      const temporary = `${path}.${randomUUID()}`;
      try {
        symlinkSync(relative(dirname(path), blobPath(hash)), temporary);
      } catch (error) {
        const { code = "" } = error as NodeJS.ErrnoException;
        if (!["EPERM", "ENOSYS", "ENOTSUP"].includes(code)) throw error;
        // On Windows, links need administrator rights or developer mode; exFAT has none. Python then moves the
        // file, too.
        move(blobPath(hash), temporary);
      }
      move(temporary, path);
    },

    remember(revision: string, commit: string): void {
      if (revision === commit || commitOf(revision) === commit) return;
      write(refPath(revision), commit);
    },

    write,
  };
}

export type HubCache = ReturnType<typeof openCache>;

/** A file's size; 0 if it is missing, or a broken link. */
export function sizeOf(path: string): number {
  try {
    return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  } catch {
    // A link loop, or another user's folder.
    return 0;
  }
}
