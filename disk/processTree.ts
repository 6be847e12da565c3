import { type ChildProcess, spawnSync } from "node:child_process";
import { processExists, windowsProgram } from "./owner.ts";

/** A process with its descendants, which POSIX systems keep in a group of its own. */
type Leader = Pick<ChildProcess, "pid"> & Partial<Pick<ChildProcess, "exitCode" | "signalCode">>;

/**
 * Whether a subprocess needs a group of its own to be ended with its descendants. Windows finds them by their
 * parents, and there a detached process has no console to print to and outlives a killed Kit.
 */
export function hasGroups(): boolean {
  return process.platform !== "win32";
}

/**
 * Signals a process and its descendants. Windows has no signals: either one ends them at once.
 * @returns whether the signal was sent
 */
export function signalTree(leader: Leader, signal: "SIGTERM" | "SIGKILL"): boolean {
  const { pid, exitCode, signalCode } = leader;
  // For `kill`, 0 means our own group and -1 every process.
  if (pid === undefined || !Number.isInteger(pid) || pid <= 1) return false;
  if (!hasGroups()) return (exitCode ?? signalCode ?? undefined) === undefined && taskkill(pid);
  try {
    process.kill(-pid, signal);
    return true;
  } catch {
    // The group is gone.
    return false;
  }
}

/** Whether nothing of the tree is left. */
export function isTreeGone(pid: number): boolean {
  if (!hasGroups()) return !processExists(pid);
  try {
    process.kill(-pid, 0);
    return false;
  } catch (error) {
    // EPERM: one is left, which now runs as another user.
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}

/** A command that kills a process with its descendants, for users. */
export function killCommand(pid: number | string): string {
  return hasGroups() ? `kill -KILL ${pid}` : `taskkill /F /T /PID ${pid}`;
}

function taskkill(pid: number): boolean {
  const program = windowsProgram("taskkill.exe");
  const args = ["/PID", String(pid), "/T", "/F"];
  const { status } = spawnSync(program, args, { stdio: "ignore", windowsHide: true });
  // It also fails if one of them was just about to end.
  return status === 0 || !processExists(pid);
}
