import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { onTestFinished, vi } from "vitest";
import { createProject } from "./project.ts";

/** Kills a process and its descendants, from the leaves: `taskkill /PID <pid> /T /F`. */
const KILL_TREE = `case "$*" in "/PID "*" /T /F") ;; *) exit 128 ;; esac
end() { for child in $(ps -o pid= --ppid "$1"); do end "$child"; done; kill -KILL "$1"; }
end "$2"`;

/** Makes this process take its system for another until the test has finished. */
export function simulatePlatform(value: NodeJS.Platform): void {
  const own = Object.getOwnPropertyDescriptor(process, "platform")!;
  Object.defineProperty(process, "platform", { ...own, value });
  onTestFinished(() => void Object.defineProperty(process, "platform", own));
}

/**
 * Makes this process take its system for Windows until the test has finished: it has no process groups, and each
 * signal but 0 terminates.
 * @param programs shell scripts in place of programs, by their paths in System32
 */
export function simulateWindows(programs: Record<string, string> = {}): void {
  simulatePlatform("win32");

  const root = createProject();
  const scripts = { "taskkill.exe": KILL_TREE, ...programs };
  for (const [path, script] of Object.entries(scripts)) {
    const target = join(root, "System32", path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
  vi.stubEnv("SystemRoot", root);
  onTestFinished(() => void vi.unstubAllEnvs());

  const kill = process.kill.bind(process);
  const spy = vi.spyOn(process, "kill").mockImplementation((pid, signal) => {
    if (pid <= 0) throw Object.assign(new Error("kill ESRCH"), { code: "ESRCH" });
    return kill(pid, signal === 0 ? 0 : "SIGKILL");
  });
  onTestFinished(() => spy.mockRestore());
}
