import { fstatSync, readFileSync, readSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";

const STDIN = 0;
const STDOUT = 1;
/** SIGHUP in the masks of `/proc/<pid>/status`. */
const HANGUP_BIT = 1n;
/** Passes on to what this process starts that it ignores SIGHUP, as the system itself would. */
const VARIABLE = "KIT_HANGUP";
const IGNORED = "ignored";

/**
 * Keeps SIGHUP ignored where it was when this process was started, as by `nohup`. Node sets it
 * back to ending the process before any script runs, so it has to be found by its traces.
 */
export function keepHangupIgnored(): void {
  if (!wasHangupIgnored()) return;
  process.env[VARIABLE] = IGNORED;
  process.on("SIGHUP", () => undefined);
}

/** The signals that ask this process to end. */
export function endingSignals(): NodeJS.Signals[] {
  const isIgnored = process.env[VARIABLE] === IGNORED;
  return isIgnored ? ["SIGINT", "SIGTERM"] : ["SIGINT", "SIGTERM", "SIGHUP"];
}

function wasHangupIgnored(): boolean {
  return process.env[VARIABLE] === IGNORED || isUnderNohup() || isIgnoredAbove();
}

function isUnderNohup(): boolean {
  // It leaves no output on a terminal.
  if (process.stdout.isTTY || process.stderr.isTTY) return false;
  // Shells name there what they have started.
  if (basename(process.env._ ?? "") === "nohup") return true;
  return isNohupOut() || isUnreadableNull();
}

/** Where `nohup` sends what would go to a terminal. */
function isNohupOut(): boolean {
  const output = tryTo(() => fstatSync(STDOUT));
  return [".", homedir()].some((folder) => {
    const file = tryTo(() => statSync(join(folder, "nohup.out")));
    return file !== undefined && file.ino === output?.ino && file.dev === output.dev;
  });
}

/** What GNU's `nohup` puts in the place of a terminal to read from: `/dev/null`, only to be written. */
function isUnreadableNull(): boolean {
  const device = tryTo(() => statSync("/dev/null").rdev);
  if (device === undefined || tryTo(() => fstatSync(STDIN).rdev) !== device) return false;
  try {
    readSync(STDIN, Buffer.alloc(1));
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EBADF";
  }
}

/** Whether a process of this session that we descend from ignores it, as a shell under `nohup`. */
function isIgnoredAbove(): boolean {
  const own = readStatus("self");
  for (let at = own; at && at.session === own?.session; at = readStatus(at.parent)) {
    if (at.ignored & HANGUP_BIT) return true;
  }
  return false;
}

interface Status {
  parent: string;
  session: string;
  ignored: bigint;
}

/** @returns undefined where there is no `/proc`, or no such process */
function readStatus(pid: string): Status | undefined {
  return tryTo(() => {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // After the command in brackets: state, parent, group, session.
    const [, parent = "", , session = ""] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const [, mask = "0"] = /^SigIgn:\s*([0-9a-f]+)$/m.exec(status) ?? [];
    return { parent, session, ignored: BigInt(`0x${mask}`) };
  });
}

function tryTo<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    // Not there, as `/proc` on macOS, or closed.
    return undefined;
  }
}
