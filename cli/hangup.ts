import { fstatSync, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";

const STDOUT = 1;
/** SIGHUP in the masks of `/proc/<pid>/status`. */
const HANGUP_BIT = 1n;
/** Makes subprocesses ignore SIGHUP too, as the system itself would. */
const VARIABLE = "KIT_HANGUP";
const IGNORED = "ignored";

/**
 * Keeps ignoring SIGHUP if this process was started so, as by `nohup`. Node resets SIGHUP before any
 * script runs, so we detect the original setting by its traces.
 */
export function keepHangupIgnored(): void {
  if (!wasHangupIgnored()) return;
  process.env[VARIABLE] = IGNORED;
  process.on("SIGHUP", () => undefined);
}

/** Calls back on each signal that asks this process to end, unless the process ignores it. */
export function onEndingSignal(
  handle: (signal: NodeJS.Signals) => void,
  signals: NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP"],
): { stop: () => void } {
  const isHangupIgnored = process.env[VARIABLE] === IGNORED;
  const heard = signals.filter((signal) => !(isHangupIgnored && signal === "SIGHUP"));
  for (const signal of heard) process.on(signal, handle);
  return {
    stop() {
      for (const signal of heard) process.off(signal, handle);
    },
  };
}

function wasHangupIgnored(): boolean {
  return process.env[VARIABLE] === IGNORED || isUnderNohup() || isIgnoredAbove();
}

function isUnderNohup(): boolean {
  // nohup redirects output away from a terminal.
  if (process.stdout.isTTY || process.stderr.isTTY) return false;
  // Shells put the program's name into `_`.
  if (basename(process.env._ ?? "") === "nohup") return true;
  return isNohupOut() || hasLeftTerminals();
}

/** Whether stdout is the file to which `nohup` redirects a terminal's output. */
function isNohupOut(): boolean {
  const output = tryTo(() => fstatSync(STDOUT));
  return [".", homedir()].some((folder) => {
    const file = tryTo(() => statSync(join(folder, "nohup.out")));
    return file !== undefined && file.ino === output?.ino && file.dev === output.dev;
  });
}

/**
 * Whether this process has no terminal and writes to a file: the only trace that `nohup` leaves in
 * a script.
 */
function hasLeftTerminals(): boolean {
  return !process.stdin.isTTY && (tryTo(() => fstatSync(STDOUT).isFile()) ?? false);
}

/** Whether an ancestor in this session ignores SIGHUP, such as a shell under `nohup`. */
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

/** @returns undefined if there is no `/proc` or no such process */
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
    // Missing, as `/proc` is on macOS, or closed.
    return undefined;
  }
}
