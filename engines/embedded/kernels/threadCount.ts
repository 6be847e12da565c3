import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { KitError } from "../../../protocol/error.ts";

/** With more cores than this, one is left to the rest of the machine. */
const ALL_CORES = 4;
const MOST_THREADS = 64;

/**
 * Threads to train with: `KIT_THREADS`, or as many as there are cores, less one when there are more
 * than four. The result of a training does not depend on it.
 * @throws KitError `CONFIG_INVALID` if `KIT_THREADS` isn't a whole number
 */
export function threadCount(
  asked = process.env["KIT_THREADS"],
  cores = Math.min(availableParallelism(), quota()),
): number {
  if (asked === undefined || asked === "") {
    return Math.min(MOST_THREADS, cores > ALL_CORES ? cores - 1 : Math.max(1, cores));
  }
  const count = Number(asked);
  if (Number.isInteger(count) && count >= 1 && count <= MOST_THREADS) return count;
  throw new KitError(
    "CONFIG_INVALID",
    `KIT_THREADS must be a whole number from 1 to ${MOST_THREADS}, not "${asked}".`,
  );
}

/** Whole cores that the container's limit allows, at least one; endless without a limit. */
export function quota(read: (file: string) => string = readText): number {
  const [limit, period] = read("/sys/fs/cgroup/cpu.max").split(" ").map(Number);
  const first = Number(read("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"));
  const cores =
    limit && period ? limit / period : first / Number(read("/sys/fs/cgroup/cpu/cpu.cfs_period_us"));
  return cores > 0 ? Math.max(1, Math.floor(cores)) : Infinity;
}

/** Empty if the file is missing. */
function readText(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return "";
  }
}
