import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { KitError } from "../../../protocol/error.ts";

/** With more cores than this, one is left to the rest of the machine. */
const ALL_CORES = 4;
export const MOST_THREADS = 64;

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
  if (/^\d+$/.test(asked) && count >= 1 && count <= MOST_THREADS) return count;
  throw new KitError(
    "CONFIG_INVALID",
    `KIT_THREADS must be a whole number from 1 to ${MOST_THREADS}, not "${asked}".`,
  );
}

const CGROUPS = "/sys/fs/cgroup";

/**
 * Whole cores allowed by this process's cgroup quotas, such as its container's: at least one; Infinity
 * without a quota.
 */
export function quota(read: (file: string) => string = readText): number {
  const limits = groupsIn(read("/proc/self/cgroup")).flatMap((group) => [
    read(`${CGROUPS}${group}/cpu.max`).split(" "),
    // Version 1.
    ["quota", "period"].map((name) => read(`${CGROUPS}/cpu${group}/cpu.cfs_${name}_us`)),
  ]);
  const cores = limits.map(([limit, period]) => Number(limit) / Number(period));
  return Math.max(1, Math.floor(Math.min(...cores.filter((count) => count > 0), Infinity)));
}

/** The paths of a process's cgroups that limit processors, and of all above them. The root is empty. */
function groupsIn(list: string): string[] {
  const own = list.split("\n").filter((line) => /^0:|[:,]cpu[:,]/.test(line));
  const above = own.flatMap((line) => {
    const names = (line.split(":")[2] ?? "").split("/").filter(Boolean);
    return names.map((_, i) => `/${names.slice(0, i + 1).join("/")}`);
  });
  return ["", ...above];
}

/** Empty if the file is missing. */
function readText(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return "";
  }
}
