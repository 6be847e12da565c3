import { execFileSync } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";

/**
 * The process that owns a job or a run, identified across reboots, containers and reused pids. Written
 * as JSON.
 */
export interface Owner {
  host: string;
  pid: number;
  /** The id of this boot, on Linux and macOS. */
  bootId: string | undefined;
  /** Linux's pid namespace: a pid means nothing in another. */
  pidNamespace: string | undefined;
  /**
   * When the process started, which reveals a reused pid: in Linux's clock ticks since boot, elsewhere in ms
   * since 1970. Undefined where `/proc` hides it.
   */
  startTime: string | undefined;
}

/** `unknown`: we can't inspect the process, or its pid may have been reused. */
export type OwnerState = "alive" | "gone" | "unknown";

type System = Pick<Owner, "host" | "bootId" | "pidNamespace">;

interface ProcessInfo {
  state: string;
  startTime: string;
}

/** How long an answer of {@link askSystem} is cached. */
const ANSWER_FRESH_MS = 30_000;
const ANSWER_LIMIT_MS = 5_000;
/** A process's own start and the system's differ by less; a pid isn't reused that soon. */
const START_TOLERANCE_MS = 10_000;

let thisSystem: System | undefined;
const answers = new Map<number, { info: ProcessInfo | undefined; at: number }>();

/** The system that this process runs on, which never changes. */
function describeSystem(): System {
  thisSystem ??= {
    host: hostname(),
    bootId: tryTo(readBootId),
    pidNamespace: tryTo(() => readlinkSync("/proc/self/ns/pid")),
  };
  return thisSystem;
}

function readBootId(): string {
  if (process.platform !== "darwin") {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  }
  return ask("/usr/sbin/sysctl", ["-n", "kern.bootsessionuuid"]).trim();
}

/** @param pid this process, or one that it has just started */
export function describeOwner(pid: number = process.pid): Owner {
  const startedAt = pid === process.pid ? performance.timeOrigin : Date.now();
  const startTime = hasProc() ? readProc(pid)?.startTime : String(Math.round(startedAt));
  return { ...describeSystem(), pid, startTime };
}

/** Whether two descriptions, which may come from the process and from its parent, are of one process. */
export function isSameProcess(a: Owner, b: Owner): boolean {
  if (a.pid !== b.pid || a.bootId !== b.bootId || a.pidNamespace !== b.pidNamespace) return false;
  if (a.pidNamespace !== undefined) return a.startTime === b.startTime;
  if (a.startTime === b.startTime) return true;
  return Math.abs(Number(a.startTime) - Number(b.startTime)) <= START_TOLERANCE_MS;
}

/** @param isHeard whether its lease has just changed, which proves as much as asking the system does */
export function ownerState(owner: Owner, isHeard = false): OwnerState {
  if (!isOnThisSystem(owner)) return "unknown";
  if (!processExists(owner.pid)) {
    answers.delete(owner.pid);
    return "gone";
  }
  if (owner.startTime === undefined) return "unknown";
  if (isHeard && !hasProc()) return "alive";
  const info = readProcess(owner.pid);
  // Hidden, as when `/proc` is mounted with `hidepid`, or this process has too many files open.
  if (!info) return "unknown";
  const isZombie = info.state === "Z" || info.state === "X";
  return isStart(info, owner) && !isZombie ? "alive" : "gone";
}

/** A process that reuses the owner's pid started after it. */
function isStart({ startTime }: ProcessInfo, owner: Owner): boolean {
  if (hasProc()) return startTime === owner.startTime;
  return Number(startTime) <= Number(owner.startTime) + START_TOLERANCE_MS;
}

/**
 * Whether the pid of a recently living owner was not reused: the owner has it, even if it has just ended, or
 * no process does. Systems don't reuse a pid whose group still lives.
 */
export function pidNotReused(owner: Owner): boolean {
  if (!isOnThisSystem(owner)) return false;
  if (!processExists(owner.pid)) return true;
  const info = owner.startTime === undefined ? undefined : readProcess(owner.pid, 0);
  return info !== undefined && isStart(info, owner);
}

function isOnThisSystem(owner: Owner): boolean {
  const { host, bootId, pidNamespace } = describeSystem();
  if (owner.pidNamespace !== pidNamespace) return false;
  const isThisBoot = owner.bootId === bootId;
  // Host names may change with networks.
  if (isThisBoot && bootId !== undefined) return true;
  // Start times reveal an earlier boot, except Linux's, which count from it.
  return owner.host === host && (isThisBoot || !hasProc());
}

export function processExists(pid: number): boolean {
  // The system takes 0 and negative numbers for process groups.
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it exists and belongs to another user.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function hasProc(): boolean {
  return describeSystem().pidNamespace !== undefined;
}

function readProcess(pid: number, freshMs = ANSWER_FRESH_MS): ProcessInfo | undefined {
  if (hasProc()) return readProc(pid);
  const at = performance.now();
  const last = answers.get(pid);
  if (last && at - last.at < freshMs) return last.info;
  const info = askSystem(pid);
  answers.set(pid, { info, at });
  return info;
}

/** Takes about 10 ms on macOS, and up to a second on Windows. */
function askSystem(pid: number): ProcessInfo | undefined {
  const line = tryTo(() => ask(...startQuery(pid)));
  const [state = "", ...words] = line?.trim().split(/\s+/) ?? [];
  const startedAt = Date.parse(`${words.join(" ")} UTC`);
  return startedAt ? { state: state.charAt(0), startTime: String(startedAt) } : undefined;
}

/** A program's stdout. */
function ask(program: string, args: string[]): string {
  return execFileSync(program, args, {
    encoding: "utf8",
    // Fixed, so that times are comparable.
    env: { ...process.env, LC_ALL: "C", TZ: "UTC" },
    stdio: ["ignore", "pipe", "ignore"],
    timeout: ANSWER_LIMIT_MS,
    windowsHide: true,
  });
}

/** A command that prints a process's state and when it started. */
function startQuery(pid: number): [program: string, args: string[]] {
  if (process.platform !== "win32") {
    return ["ps", ["-o", "stat=", "-o", "lstart=", "-p", String(pid)]];
  }
  const line = `'R ' + (Get-Process -Id ${pid}).StartTime.ToUniversalTime().ToString('u')`;
  const powershell = windowsProgram("WindowsPowerShell/v1.0/powershell.exe");
  return [powershell, ["-NoProfile", "-NonInteractive", "-Command", line]];
}

/** A program by its path, because Windows looks for a bare name in the current folder first. */
export function windowsProgram(path: string): string {
  return join(process.env["SystemRoot"] ?? "C:\\Windows", "System32", path);
}

function readProc(pid: number): ProcessInfo | undefined {
  const stat = tryTo(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  if (stat === undefined) return undefined;
  // The second field, the command in parentheses, may itself contain spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { state: fields[0] ?? "", startTime: fields[19] ?? "" };
}

function tryTo(read: () => string): string | undefined {
  try {
    return read();
  } catch {
    // Not Linux, or the process is gone.
    return undefined;
  }
}
