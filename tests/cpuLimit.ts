import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Where the first version of cgroups has its limits of the CPU; the second has all in one place. */
const FIRST = "/sys/fs/cgroup/cpu";
const SECOND = "/sys/fs/cgroup";
const PERIOD_US = 100_000;

/**
 * A cgroup with a limit of the CPU, which a program inside sees as its root, as in a container.
 * @param cores may be a fraction
 * @returns turns into a program inside of it
 */
export function limitCpu(cores: number): string[] {
  const isFirst = existsSync(join(FIRST, "cpu.cfs_quota_us"));
  const root = isFirst ? FIRST : SECOND;
  const group = join(root, `kit-${randomBytes(4).toString("hex")}`);
  const limit = cores * PERIOD_US;
  try {
    if (!isFirst) writeFileSync(join(root, "cgroup.subtree_control"), "+cpu");
    mkdirSync(group);
    onTestFinished(() => rmdirSync(group));
    if (isFirst) writeFileSync(join(group, "cpu.cfs_quota_us"), `${limit}`);
    else writeFileSync(join(group, "cpu.max"), `${limit} ${PERIOD_US}`);
  } catch (cause) {
    throw new Error("This test makes a cgroup: run it as root, with CAP_SYS_ADMIN.", { cause });
  }
  const enter = 'echo $$ > "$0/cgroup.procs" && mount --bind "$0" "$1" && shift && exec "$@"';
  return ["unshare", "--mount", "sh", "-c", enter, group, root];
}
