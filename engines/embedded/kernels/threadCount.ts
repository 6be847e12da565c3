import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { KitError } from "../../../protocol/error.ts";

/** With more cores than this, one is left to other programs. */
const MAX_FULLY_USED_CORES = 4;
export const MAX_THREADS = 64;

/**
 * Number of threads: `KIT_THREADS`, or the number of cores, minus one if there are more than four. Results don't depend
 * on it.
 * @throws KitError `CONFIG_INVALID` if `KIT_THREADS` isn't a whole number
 */
export function threadCount(
  requested = process.env["KIT_THREADS"],
  cores = Math.min(availableParallelism(), quota()),
): number {
  if (requested === undefined || requested === "") {
    return Math.min(MAX_THREADS, cores > MAX_FULLY_USED_CORES ? cores - 1 : Math.max(1, cores));
  }
  const count = Number(requested);
  if (/^\d+$/.test(requested) && count >= 1 && count <= MAX_THREADS) return count;
  throw new KitError(
    "CONFIG_INVALID",
    `KIT_THREADS must be a whole number from 1 to ${MAX_THREADS}, not "${requested}".`,
  );
}

const CGROUPS = "/sys/fs/cgroup";

/**
 * Whole cores allowed by this process's cgroup quotas, such as a container's: at least one; Infinity without a quota.
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

/** Paths of a process's CPU cgroups and their ancestors. The root is empty. */
function groupsIn(list: string): string[] {
  const own = list.split("\n").filter((line) => /^0:|[:,]cpu[:,]/.test(line));
  const ancestors = own.flatMap((line) => {
    const names = (line.split(":")[2] ?? "").split("/").filter(Boolean);
    return names.map((_, i) => `/${names.slice(0, i + 1).join("/")}`);
  });
  return ["", ...ancestors];
}

/** Empty if the file can't be read. */
function readText(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return "";
  }
}
