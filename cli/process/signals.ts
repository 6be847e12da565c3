import { fstatSync } from "node:fs";
import { EXIT_CODE } from "./exitCode.ts";

const STDOUT = 1;
/** Makes subprocesses ignore SIGHUP too, as the system itself would. */
const HANGUP_VARIABLE = "KIT_HANGUP";
const IGNORED = "ignored";
/** Matches an npm script, or an npx command, that runs only `kit`. */
const KIT_ALONE = /^'?kit'?( [^&;|]*)?$/;
const PARENT_POLL_MS = 500;
/** A second Ctrl-C within this time is the same one: the terminal sends it to this process, and npx forwards it. */
const SAME_CTRL_C_MS = 300;
/** How long remote work may take to stop, in ms. */
const GRACE_MS = 5_000;

/**
 * The pid of the shell in which npm runs `kit`. npm signals only that shell, which exits without
 * forwarding SIGTERM. Kit's own subprocesses inherit npm's variable, but not the shell.
 */
const npmShell =
  KIT_ALONE.test(process.env.npm_lifecycle_script ?? "") &&
  !process.env.KIT_RUN &&
  !process.connected
    ? process.ppid
    : undefined;

/** On Windows, Ctrl-Break is SIGBREAK and a closed window is SIGHUP; SIGTERM never comes. */
const TERMINATION_SIGNALS: NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK"];

/** Ignores SIGHUP in a process that reads from no terminal and writes to a file, as under `nohup`. */
export function keepHangupIgnored(): void {
  if (!wasHangupIgnored()) return;
  process.env[HANGUP_VARIABLE] = IGNORED;
  process.on("SIGHUP", () => undefined);
}

/** The signals that ask this process to end, except those it ignores. */
export function terminationSignals(signals = TERMINATION_SIGNALS): NodeJS.Signals[] {
  return signals.filter(
    (signal) => !(process.env[HANGUP_VARIABLE] === IGNORED && signal === "SIGHUP"),
  );
}

/** Calls back on each signal that asks this process to end, unless the process ignores it. */
export function onTerminationSignal(
  handle: (signal: NodeJS.Signals) => void,
  signals: NodeJS.Signals[] = TERMINATION_SIGNALS,
): { stop: () => void } {
  const handled = terminationSignals(signals);
  const end = (signal: NodeJS.Signals) => {
    clearInterval(timer);
    handle(signal);
  };
  const timer = setInterval(() => {
    if (npmShell !== undefined && process.ppid !== npmShell) end("SIGTERM");
  }, PARENT_POLL_MS).unref();
  for (const signal of handled) process.on(signal, end);
  return {
    stop() {
      clearInterval(timer);
      for (const signal of handled) process.off(signal, end);
    },
  };
}

/** Like {@link onTerminationSignal}, with a callback of its own for each further signal. */
export function onRepeatedSignal(first: () => void, again: () => void): { stop: () => void } {
  let since: number | undefined;
  return onTerminationSignal(() => {
    if (since === undefined) first();
    else if (performance.now() - since > SAME_CTRL_C_MS) again();
    since ??= performance.now();
  });
}

/** Node resets SIGHUP before any script runs, so `nohup` is detected this way. */
function wasHangupIgnored(): boolean {
  return process.env[HANGUP_VARIABLE] === IGNORED || (!process.stdin.isTTY && writesToFile());
}

function writesToFile(): boolean {
  try {
    return fstatSync(STDOUT).isFile();
  } catch {
    // It is closed.
    return false;
  }
}

/**
 * Aborts at the first signal, so that remote jobs and temporary files are cleaned up before this process
 * ends. A second signal exits at once.
 */
export function abortOnSignal(): AbortSignal {
  const abort = new AbortController();
  onRepeatedSignal(() => {
    setTimeout(exitCancelled, GRACE_MS);
    abort.abort();
  }, exitCancelled);
  return abort.signal;
}

export function exitCancelled(): never {
  process.exit(EXIT_CODE.cancelled);
}
