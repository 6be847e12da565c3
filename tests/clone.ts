import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./packed.ts";

/** Gives a clone this one's dependencies, so that they count as installed there. */
export function linkDependencies(clone: string): void {
  const modules = join(clone, "node_modules");
  mkdirSync(join(modules, ".cache", "kit"), { recursive: true });
  for (const name of readdirSync(join(ROOT, "node_modules"))) {
    if (/^\.(cache|vite)/.test(name)) continue;
    symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
  }
  const lock = createHash("sha256").update("package-lock.json\0");
  lock.update(readFileSync(join(clone, "package-lock.json"))).update("\0");
  writeFileSync(join(modules, ".cache", "kit", "dependencies"), lock.digest("hex"));
}
