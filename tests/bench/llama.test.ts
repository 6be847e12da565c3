import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../packed.ts";
import { createProject } from "../project.ts";

const LOCK = "bench/llama/package-lock.json";

/** Runs `npm run llama` in a clone. */
function makeLlama(clone: string) {
  for (const name of ["scripts", "bench/llama"]) {
    cpSync(join(ROOT, name), join(clone, name), { recursive: true });
  }
  return (lock = readFileSync(join(ROOT, LOCK), "utf8")) => {
    writeFileSync(join(clone, LOCK), lock);
    const { status, stderr } = spawnSync(process.execPath, ["scripts/llama.mjs"], {
      cwd: clone,
      // No npm is found.
      env: { ...process.env, PATH: "" },
      encoding: "utf8",
    });
    return { status, stderr, isMade: existsSync(join(clone, ".llama")) };
  };
}

test.runIf(process.platform === "linux" && process.arch === "x64")(
  "npm run llama installs only packages of the registry by their hashes",
  () => {
    const clone = createProject();
    const make = makeLlama(clone);
    // The lock is as it should be, so npm would be started.
    expect(make()).toEqual({ status: 1, stderr: "", isMade: false });

    const lock = readFileSync(join(ROOT, LOCK), "utf8").replace(/"integrity": "[^"]*"/, '"a": 1');
    expect(make(lock).stderr).toContain("has no SHA-512 of its content");
  },
);
