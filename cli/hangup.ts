import { fstatSync } from "node:fs";

const STDOUT = 1;
/** Makes subprocesses ignore SIGHUP too, as the system itself would. */
const VARIABLE = "KIT_HANGUP";
const IGNORED = "ignored";

/** Ignores SIGHUP in a process that reads from no terminal and writes to a file, as under `nohup`. */
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

/** Node resets SIGHUP before any script runs, so this is how `nohup` is known. */
function wasHangupIgnored(): boolean {
  return process.env[VARIABLE] === IGNORED || (!process.stdin.isTTY && writesToFile());
}

function writesToFile(): boolean {
  try {
    return fstatSync(STDOUT).isFile();
  } catch {
    // It is closed.
    return false;
  }
}
