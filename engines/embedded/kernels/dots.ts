import { readFileSync } from "node:fs";
import { arch, platform } from "node:process";

/** Linux's names of an instruction that multiplies and adds four int8 at once, as V8 uses it. */
const FLAG = { x64: /\bavx_vnni\b/, arm64: /\basimddp\b/ };

/**
 * Whether this processor has an instruction for a relaxed dot product. V8 makes five others of it where there is
 * none, and plain SIMD is faster. Apple's ARM processors all have it; other systems than Linux don't tell.
 */
export function hasDotProducts(): boolean {
  if (arch !== "x64" && arch !== "arm64") return false;
  if (platform !== "linux") return arch === "arm64";
  try {
    return FLAG[arch].test(readFileSync("/proc/cpuinfo", "utf8"));
  } catch {
    // A sandbox without /proc, or Node's --permission.
    return false;
  }
}
