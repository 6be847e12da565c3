import { lstatSync, readdirSync } from "node:fs";
import { refuseLink } from "./file.ts";
import { isJobId } from "./id.ts";

/** Two changes of a folder within this may leave it with one and the same time. */
const TICK_MS = 2_000;
/** Where a mount does not keep a folder's time right, what came or went is still seen after this. */
const TRUST_MS = 10_000;

/** Which jobs have a folder. */
export interface JobFolders {
  /**
   * Their ids, newest first; the same array for as long as they are the same.
   * @throws KitError `LINK_IN_KIT`, and the system's error unless there is no such folder
   */
  read: () => readonly string[];
}

/** Reads the folder of all jobs again only when its time says that one came or went. */
export function createJobFolders(
  root: string,
  now: () => number = () => performance.now(),
): JobFolders {
  let ids: readonly string[] = [];
  let time: bigint | undefined;
  /** When the folder was first seen with this time, and when it was read last. */
  let firstSeen = 0;
  let lastRead = 0;
  return {
    read() {
      const stats = lstatSync(root, { bigint: true, throwIfNoEntry: false });
      if (stats?.isSymbolicLink()) refuseLink(root);
      const isSame = stats?.mtimeNs === time;
      if (isSame && lastRead - firstSeen > TICK_MS && now() - lastRead < TRUST_MS) return ids;
      lastRead = now();
      if (!isSame) firstSeen = lastRead;
      time = stats?.mtimeNs;
      const found = stats ? readIds(root) : [];
      if (found.length !== ids.length || found.some((id, n) => id !== ids[n])) ids = found;
      return ids;
    },
  };
}

function readIds(root: string): string[] {
  const entries = readdirSync(root, { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  return folders.filter(isJobId).sort().reverse();
}
