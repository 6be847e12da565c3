import { chmodSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished, vi } from "vitest";
import { createProject } from "./project.ts";

/** Kills a process and its descendants, from the leaves. */
const KILL_TREE = `end() { for child in $(ps -o pid= --ppid "$1"); do end "$child"; done; kill -KILL "$1"; }
end "$2"`;

/**
 * Makes this process take its system for Windows until the test has finished: without process groups, each signal
 * but 0 terminates, and `taskkill /PID <pid> /T /F` is a shell script.
 */
export function simulateWindows(taskkill = KILL_TREE): void {
  simulatePlatform("win32");
  const programs = createProject({ "System32/taskkill.exe": `#!/bin/sh\n${taskkill}\n` });
  chmodSync(join(programs, "System32", "taskkill.exe"), 0o755);
  vi.stubEnv("SystemRoot", programs);
  onTestFinished(() => void vi.unstubAllEnvs());
  const kill = process.kill.bind(process);
  const spy = vi.spyOn(process, "kill").mockImplementation((pid, signal) => {
    if (pid <= 0) throw Object.assign(new Error("kill ESRCH"), { code: "ESRCH" });
    return kill(pid, signal === 0 ? 0 : "SIGKILL");
  });
  onTestFinished(() => spy.mockRestore());
}

export function simulatePlatform(value: NodeJS.Platform): void {
  const own = Object.getOwnPropertyDescriptor(process, "platform")!;
  Object.defineProperty(process, "platform", { ...own, value });
  onTestFinished(() => void Object.defineProperty(process, "platform", own));
}
