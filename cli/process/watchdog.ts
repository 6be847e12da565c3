import { Worker } from "node:worker_threads";
import { sourcePlace } from "../../sdk/projectCode.ts";
import { printError } from "../terminal/print.ts";
import { endingSignals } from "./signals.ts";

const BEAT_MS = 500;
const LIMIT_S = 10;
const EVENT = "kit:unheard";

/** An inspector reaches a thread in the middle of a loop, also of a regular expression. */
const CODE = `
  const { Session } = require("node:inspector");
  const { beats, limit, beatMs, expression } = require("node:worker_threads").workerData;
  let last;
  let silent = 0;
  setInterval(() => {
    const beat = Atomics.load(beats, 0);
    silent = beat === last ? silent + 1 : 0;
    last = beat;
    if (silent < limit) return;
    silent = 0;
    const session = new Session();
    session.connectToMainThread();
    session.once("Debugger.paused", () =>
      session.post("Runtime.evaluate", { expression }, () => session.disconnect()),
    );
    session.post("Debugger.enable");
    session.post("Debugger.pause");
  }, beatMs);
`;

/**
 * While this thread runs without a pause, it hears no signal that Kit listens for: after a limit, says where
 * the project's code is and lets the system end the process at the next signal, until the thread pauses.
 */
export function freeSignalsInLoops(): void {
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  setInterval(() => Atomics.add(beats, 0, 1), BEAT_MS).unref();
  let isFree = false;
  process.on(EVENT, () => {
    if (isFree) return;
    isFree = true;
    const restore = takeListeners();
    process.nextTick(() => {
      isFree = false;
      restore();
    });
    const who = currentPlace() ?? "This process";
    printError(
      `kit: ${who} has been running for ${LIMIT_S} s without a pause; Ctrl-C ends it at once.`,
    );
  });
  new Worker(CODE, {
    eval: true,
    execArgv: [],
    workerData: {
      beats,
      beatMs: BEAT_MS,
      limit: (LIMIT_S * 1000) / BEAT_MS,
      expression: `process.emit(${JSON.stringify(EVENT)})`,
    },
  }).unref();
}

/** Also those of the project, as one that stays would keep the system from ending the process. */
function takeListeners(): () => void {
  const taken = endingSignals().map((signal) => ({
    signal,
    listeners: process.rawListeners(signal),
  }));
  for (const { signal } of taken) process.removeAllListeners(signal);
  return () => {
    for (const { signal, listeners } of taken) {
      for (const listener of listeners) process.on(signal, listener as NodeJS.SignalsListener);
    }
  };
}

function currentPlace(): string | undefined {
  const shown = Error.stackTraceLimit;
  Error.stackTraceLimit = Infinity;
  try {
    return sourcePlace(new Error());
  } finally {
    Error.stackTraceLimit = shown;
  }
}

const TIMER = `
  const { workerData } = require("node:worker_threads");
  const { writeSync } = require("node:fs");
  setTimeout(() => {
    writeSync(2, workerData.lastWords + "\\n");
    process.kill(process.pid, "SIGKILL");
  }, workerData.limitMs);
`;

/** Prints a sentence and ends this process after a limit, even if its main thread is blocked. */
export function startWatchdog(limitMs: number, lastWords: string): { stop: () => void } {
  const worker = new Worker(TIMER, {
    eval: true,
    execArgv: [],
    workerData: { limitMs, lastWords },
  });
  worker.unref();
  return { stop: () => void worker.terminate() };
}
