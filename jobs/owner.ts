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
  const access = accessTo(owner.pid);
  if (access === "none") return "gone";
  if (owner.startTime === null) return "alive";
  const found = readProcess(owner.pid);
  // A `/proc` mounted with `hidepid` shows no other user's processes.
  if (!found && access === "denied") return "unknown";
  const isZombie = found?.state === "Z" || found?.state === "X";
  return found && found.startTime === owner.startTime && !isZombie ? "alive" : "gone";
}

/** `denied`: there is such a process, and it belongs to somebody else. */
function accessTo(pid: number): "granted" | "denied" | "none" {
  try {
    process.kill(pid, 0);
    return "granted";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM" ? "denied" : "none";
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
