import { randomUUID } from "node:crypto";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { hasAllFiles } from "../modelFiles/names.ts";
import { type HubName, isCommit } from "./hubName.ts";
import { readRef } from "./snapshots.ts";

/** A repository's files on this disk. */
export interface HubSnapshot {
  /** Absolute path of the folder with links to them. */
  directory: string;
  commit: string;
}

/**
 * The files of a repository on this disk, as Python's `huggingface_hub` lays them out: each once in
 * `blobs`, by its hash, with links from `snapshots/<commit>/<path>`. `refs/<branch>` holds the commit
 * that a branch led to; an empty `.no_exist/<commit>/<path>` says that the commit has no such file.
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

  /** That a revision was when it was last asked for. */
  const commitOf = (revision: string) =>
    isCommit(revision) ? revision : readRef(refPath(revision));

  /**
   * Makes a folder of the repository, or finds one there. In a cache that several users share, a link in
   * its place could lead to files of whoever downloads.
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

  /** Writes all of it or nothing. */
  function write(path: string, text: string): void {
    makeFolder(dirname(path));
    const own = `${path}.${randomUUID()}.tmp`;
    writeFileSync(own, text);
    renameSync(own, path);
  }

  return {
    commitOf,
    snapshotPath,
    blobPath,
    /** Kit's own note of what a commit has. */
    listingPath: (commit: string) => join(folder, ".kit", `${commit}.json`),
    /** @throws Error when it cannot be made, or a link is in its place */
    makeBlobsFolder: () => makeFolder(join(folder, "blobs")),
    /** Path of an incomplete download. Not Python's name, because its older versions would append to it. */
    partialPath: (hash: string) => blobPath(`${hash}.kit.incomplete`),
    /** Beside Python's lock of the file, which Node has no call for: both rename whole files into place. */
    lockPath: (hash: string) => join(cache, ".locks", name, `${hash}.kit.lock`),

    /** The model as a revision was when it was last asked for; undefined unless it is whole. */
    find(revision: string): HubSnapshot | undefined {
      const commit = commitOf(revision);
      const directory = commit && snapshotPath(commit);
      return commit && directory && hasAllFiles(directory) ? { directory, commit } : undefined;
    },

    /** Whether nothing can be missing: each file is here, or known not to be in the commit. */
    isComplete({ directory, commit }: HubSnapshot, files: string[]): boolean {
      return files.every(
        (file) => existsSync(join(directory, file)) || existsSync(absencePath(commit, file)),
      );
    },

    /** Notes for the next time, and for Python, that a commit has no such file. */
    noteAbsence(commit: string, file: string): void {
      const path = absencePath(commit, file);
      try {
        makeFolder(dirname(path));
        writeFileSync(path, "", { flag: "wx" });
      } catch {
        // It is there already, or the folder can't be written. The hub is asked again, then.
      }
    },

    /** Gives a whole blob its name in a commit. */
    link(commit: string, file: string, hash: string): void {
      const path = join(snapshotPath(commit), file);
      makeFolder(dirname(path));
      const own = `${path}.${randomUUID()}`;
      try {
        symlinkSync(relative(dirname(path), blobPath(hash)), own);
      } catch (error) {
        if (!["EPERM", "ENOSYS"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
        // Windows only lets administrators and developers make links. Python moves the file, too.
        renameSync(blobPath(hash), own);
      }
      renameSync(own, path);
    },

    remember(revision: string, commit: string): void {
      if (revision === commit || commitOf(revision) === commit) return;
      write(refPath(revision), commit);
    },

    write,
  };
}

export type HubCache = ReturnType<typeof openCache>;

/** Bytes of a file, 0 without one or behind a link that leads nowhere. */
export function sizeOf(path: string): number {
  try {
    return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  } catch {
    // A link to itself, or another user's folder.
    return 0;
  }
}

export function remove(path: string): void {
  rmSync(path, { force: true });
}
