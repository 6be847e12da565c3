import { type BigIntStats, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { isFolder, refuseLink } from "../../disk/file.ts";
import { MOST_NAMES, createFolderHints } from "./folderHints.ts";
import { isJobId } from "../id.ts";

/** Two changes of a folder within this may leave it with one and the same time. */
const TICK_MS = 2_000;
/** Where a mount does not keep a folder's time right, what came or went is still seen after this. */
const TRUST_MS = 10_000;

/** The ids of jobs whose folders came or went. */
export interface FolderChanges {
  /** Newest first. */
  came: string[];
  went: string[];
}

/** Which jobs have a folder. */
export interface JobFolders {
  /**
   * What has changed since the last time.
   * @throws KitError `LINK_IN_KIT`, and the system's error unless there is no such folder
   */
  look: () => FolderChanges;
  /** Whether a job had a folder at the last look. */
  has: (id: string) => boolean;
  /** A job's folder counts as not seen yet. */
  forget: (id: string) => void;
  close: () => void;
}

/**
 * Reads the folder of all jobs again only when its time says that one came or went; not even then
 * when the system has told which, and the folder's count of folders agrees.
 * @param watching whether the system is asked to tell
 */
export function createJobFolders(
  root: string,
  watching = false,
  now: () => number = () => performance.now(),
): JobFolders {
  const present = new Set<string>();
  const hints = watching ? createFolderHints(root) : undefined;
  let last: BigIntStats | undefined;
  /** When the folder was first seen with its time, and when it was read last. */
  let firstSeen = 0;
  let lastRead = -Infinity;
  /** Whether the system has told what made the folder's time what it is. */
  let isTold = false;

  function look(): FolderChanges {
    const stats = lstatSync(root, { bigint: true, throwIfNoEntry: false });
    if (stats?.isSymbolicLink()) refuseLink(root);
    const at = now();
    const told = hints?.take() ?? [];
    const isSame = stats?.ino === last?.ino && stats?.mtimeNs === last?.mtimeNs;
    const changes = lookAt(told);
    const count = (last?.nlink ?? 0n) + BigInt(changes.came.length - changes.went.length);
    const isWhole = told.length <= MOST_NAMES && told.every(isJobId) && stats?.nlink === count;
    if (!isSame) {
      firstSeen = at;
      isTold = isWhole && told.length > 0 && stats?.ino === last?.ino;
    }
    last = stats;
    const isRead = lastRead - firstSeen > TICK_MS;
    const isEnough = isRead || (isTold && at - firstSeen <= TICK_MS);
    if (isWhole && isEnough && at - lastRead < TRUST_MS) return changes;
    // What it has watched may be another folder, or none.
    if (!isSame && !isTold) hints?.renew();
    const all = stats ? compare(readIds(root)) : { came: [], went: [...present] };
    lastRead = at;
    return all;
  }

  function lookAt(ids: string[]): FolderChanges {
    const there = new Set(ids.filter((id) => isFolder(join(root, id))));
    return {
      came: ids.filter((id) => there.has(id) && !present.has(id)),
      went: ids.filter((id) => !there.has(id) && present.has(id)),
    };
  }

  function compare(ids: string[]): FolderChanges {
    const came = ids.filter((id) => !present.has(id));
    if (present.size + came.length === ids.length) return { came, went: [] };
    const there = new Set(ids);
    return { came, went: [...present].filter((id) => !there.has(id)) };
  }

  return {
    look() {
      const { came, went } = look();
      for (const id of came) present.add(id);
      for (const id of went) present.delete(id);
      return { came: came.sort().reverse(), went };
    },
    has: (id) => present.has(id),
    forget: (id) => void present.delete(id),
    close: () => hints?.close(),
  };
}

function readIds(root: string): string[] {
  const entries = readdirSync(root, { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  return folders.filter(isJobId);
}
