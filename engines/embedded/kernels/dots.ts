import { readFileSync } from "node:fs";
import { arch, platform } from "node:process";

/** What Linux calls the int8 dot product instructions that V8 uses. */
const CPU_FLAGS = { x64: /\bavx_vnni\b/, arm64: /\basimddp\b/ };

/**
 * Whether this processor has an instruction for relaxed dot products. Without it, V8 emits five others, and plain SIMD
 * is faster. All of Apple's ARM processors have it; systems other than Linux don't reveal it.
 */
export function hasDotProducts(): boolean {
  if (arch !== "x64" && arch !== "arm64") return false;
  if (platform !== "linux") return arch === "arm64";
  try {
    return CPU_FLAGS[arch].test(readFileSync("/proc/cpuinfo", "utf8"));
  } catch {
    // A sandbox may lack /proc, and Node's --permission may forbid it.
    return false;
  }
}
