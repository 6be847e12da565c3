// SwiftShader, a GPU in software, on which WebGPU is tested: Debian's chromium has it, and libvulkan1 finds it.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

const DRIVER = "/usr/lib/chromium/vk_swiftshader_icd.json";

/** What a process needs to find it alone, without a complaint. */
export const SWIFTSHADER = { VK_ICD_FILENAMES: DRIVER, XDG_RUNTIME_DIR: "/tmp" };

/** Whether Debian's loader of Vulkan drivers is installed. */
export function hasVulkan() {
  const folders = existsSync(DRIVER) ? readdirSync("/usr/lib") : [];
  return folders.some(
    (name) => existsSync(join("/usr/lib", name, "libvulkan.so.1")) && name !== "chromium",
  );
}
