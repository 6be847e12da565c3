import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** Which process owns a job or a run, told apart across reboots, containers and reused pids. */
export interface Owner {
  host: string;
  pid: number;
  /** Linux's id of this boot, null elsewhere. */
  bootId: string | null;
  /** Linux's pid namespace: a pid means nothing in another. Null elsewhere. */
  pidNamespace: string | null;
  /** Linux's start time of the process, in clock ticks since boot: tells a reused pid. Null elsewhere. */
  startTime: string | null;
}

/** `unknown`: the process is on another machine or in another pid namespace, or hidden from us. */
export type OwnerState = "alive" | "gone" | "unknown";

type System = Pick<Owner, "host" | "bootId" | "pidNamespace">;

let here: System | undefined;

/** Where this process runs, which stays as it is for as long as it does. */
function describeSystem(): System {
  here ??= {
    host: hostname(),
    bootId: orNull(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()),
    pidNamespace: orNull(() => readlinkSync("/proc/self/ns/pid")),
  };
  return here;
}

export function describeOwner(pid: number = process.pid): Owner {
  return { ...describeSystem(), pid, startTime: readProcess(pid)?.startTime ?? null };
}

export function ownerState(owner: Owner): OwnerState {
  const system = describeSystem();
  const isHere =
    owner.bootId === system.bootId &&
    owner.pidNamespace === system.pidNamespace &&
    // A machine's name may change with its networks, so it counts only where nothing else tells.
    (owner.bootId !== null || owner.host === system.host);
  if (!isHere) return "unknown";
  if (!processExists(owner.pid)) return "gone";
  if (owner.startTime === null) return "alive";
  const found = readProcess(owner.pid);
  // Hidden, as where `/proc` is mounted with `hidepid`, or we have too many files open.
  if (!found) return "unknown";
  const isZombie = found.state === "Z" || found.state === "X";
  return found.startTime === owner.startTime && !isZombie ? "alive" : "gone";
}

function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it exists and belongs to somebody else.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function readProcess(pid: number): { state: string; startTime: string } | null {
  const stat = orNull(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  if (stat === null) return null;
  // The second field, the command in brackets, may itself hold spaces and brackets.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { state: fields[0] ?? "", startTime: fields[19] ?? "" };
}

function orNull(read: () => string): string | null {
  try {
    return read();
  } catch {
    // Not Linux, or the process is gone.
    return null;
  }
}
