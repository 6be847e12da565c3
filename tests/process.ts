import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, readdirSync, readlinkSync } from "node:fs";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { onTestFinished } from "vitest";
import { describeOwner } from "../disk/owner.ts";

/** A subprocess that is killed when the test has finished, and what it says line by line. */
export interface Spawned {
  child: ChildProcess;
  pid: number;
  /** The next line that it prints. */
  line: () => Promise<string>;
  /** Ends it as `kill -9` does; resolves when it is gone. */
  kill: () => Promise<void>;
}

export function spawnProcess(program: string, args: string[], cwd?: string): Spawned {
  const child = spawn(program, args, { cwd, stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "exit");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const kill = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  onTestFinished(kill);
  return {
    child,
    pid: child.pid ?? 0,
    line: async () => String((await lines.next()).value),
    kill,
  };
}

/**
 * Runs a module in a `node` of its own; what the build left in `dist/` can be imported by `dist`, and
 * `peakMemory()` is the most memory that the process has had, in KiB. (`resourceUsage().maxRSS` is at
 * least that of the process which forked it.)
 * @param before shell commands that set up the process
 */
export function spawnModule(code: string, args: string[] = [], before = ":"): Spawned {
  const dist = pathToFileURL(`${import.meta.dirname}/../dist/`).href;
  const module = `
    const dist = (path) => import(${JSON.stringify(dist)} + path);
    const { readFileSync: readStatus } = await import("node:fs");
    const peakMemory = () => Number(/VmHWM:\\s+(\\d+)/.exec(readStatus("/proc/self/status", "utf8"))[1]);
    ${code}`;
  const node = [process.execPath, "--input-type=module", "-e", module, ...args];
  return spawnProcess("sh", ["-c", `${before}; exec "$@"`, "sh", ...node]);
}

/** Whether a process runs; one that ended and that nobody has waited for does not. */
export function isRunning(pid: number): boolean {
  if (describeOwner(pid).startTime === undefined) return false;
  return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
}

/** The processes whose current directory is this. */
export function processesIn(directory: string): string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return readlinkSync(`/proc/${pid}/cwd`) === directory;
    } catch {
      // No process, or one that has ended.
      return false;
    }
  });
}

/** Sends a signal to all processes in a folder but those that end meanwhile. */
export function signalAll(directory: string, signal: NodeJS.Signals): void {
  for (const pid of processesIn(directory)) {
    try {
      process.kill(Number(pid), signal);
    } catch {
      // Gone.
    }
  }
}
