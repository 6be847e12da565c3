import { execFileSync } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/**
 * The process that owns a job or a run, identified across reboots, containers and reused pids. Written
 * as JSON.
 */
export interface Owner {
  host: string;
  pid: number;
  /** Linux's id of this boot. */
  bootId: string | undefined;
  /** Linux's pid namespace: a pid means nothing in another. */
  pidNamespace: string | undefined;
  /**
   * When the process started, which reveals a reused pid: in Linux's clock ticks since boot, elsewhere
   * as `ps` prints it. Undefined where neither is available.
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

/** How long a result of `ps` is cached, because each call spawns a process. */
const PS_FRESH_MS = 1_000;
const PS_LIMIT_MS = 2_000;

let thisSystem: System | undefined;
let ownStart: string | undefined;
const psCache = new Map<number, { info: ProcessInfo | undefined; at: number }>();

/** The system that this process runs on, which never changes. */
function describeSystem(): System {
  thisSystem ??= {
    host: hostname(),
    bootId: tryTo(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()),
    pidNamespace: tryTo(() => readlinkSync("/proc/self/ns/pid")),
  };
  return thisSystem;
}

export function describeOwner(pid: number = process.pid): Owner {
  if (pid === process.pid) ownStart ??= startOf(pid);
  const startTime = pid === process.pid ? ownStart : startOf(pid);
  return { ...describeSystem(), pid, startTime };
}

function startOf(pid: number): string | undefined {
  return readProcess(pid, 0)?.startTime;
}

export function ownerState(owner: Owner): OwnerState {
  if (!isOnThisSystem(owner)) return "unknown";
  if (!processExists(owner.pid)) return "gone";
  if (owner.startTime === undefined) return "unknown";
  const info = readProcess(owner.pid);
  // Hidden, as when `/proc` is mounted with `hidepid`, or this process has too many files open.
  if (!info) return "unknown";
  const isZombie = info.state === "Z" || info.state === "X";
  return info.startTime === owner.startTime && !isZombie ? "alive" : "gone";
}

/**
 * Whether the pid of a recently living owner was not reused: the owner has it, even if it has just ended, or
 * no process does. Systems don't reuse a pid whose group still lives.
 */
export function pidNotReused(owner: Owner): boolean {
  if (!isOnThisSystem(owner)) return false;
  if (!processExists(owner.pid)) return true;
  return owner.startTime !== undefined && readProcess(owner.pid, 0)?.startTime === owner.startTime;
}

function isOnThisSystem(owner: Owner): boolean {
  const system = describeSystem();
  return (
    owner.bootId === system.bootId &&
    owner.pidNamespace === system.pidNamespace &&
    // Host names may change with networks, so they count only without a boot id.
    (owner.bootId !== undefined || owner.host === system.host)
  );
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

function readProcess(pid: number, freshMs = PS_FRESH_MS): ProcessInfo | undefined {
  return describeSystem().bootId === undefined ? readPs(pid, freshMs) : readProc(pid);
}

/** For systems without `/proc`, such as macOS. */
function readPs(pid: number, freshMs: number): ProcessInfo | undefined {
  const at = performance.now();
  const last = psCache.get(pid);
  if (last && at - last.at < freshMs) return last.info;
  for (const [other, old] of psCache) if (at - old.at > PS_FRESH_MS) psCache.delete(other);
  const columns = ["-o", "stat=", "-o", "lstart=", "-p", String(pid)];
  const line = tryTo(() =>
    execFileSync("ps", columns, {
      encoding: "utf8",
      // Fixed, so that times are comparable.
      env: { ...process.env, LC_ALL: "C", TZ: "UTC" },
      stdio: ["ignore", "pipe", "ignore"],
      timeout: PS_LIMIT_MS,
    }),
  );
  const [stat = "", ...start] = line?.trim().split(/\s+/) ?? [];
  const info = start.length > 0 ? { state: stat.charAt(0), startTime: start.join(" ") } : undefined;
  psCache.set(pid, { info, at });
  return info;
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
