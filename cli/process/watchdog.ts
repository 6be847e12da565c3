import { Worker } from "node:worker_threads";
import { sourceLocation } from "../../sdk/projectCode.ts";
import { printError } from "../terminal/print.ts";
import { terminationSignals } from "./signals.ts";

const HEARTBEAT_MS = 500;
const LIMIT_S = 10;
const EVENT = "kit:loop-blocked";

/**
 * An inspector session can interrupt a loop, even inside a regular expression. Bun and Deno have no inspector, so
 * a loop there looks like a long step, and Kit leaves it to the user to end the process.
 */
const CODE = `
  const { Session } = require("node:inspector");
  const { writeSync } = require("node:fs");
  const { beats, limit, beatMs, expression, uninspected } = require("node:worker_threads").workerData;
  let last;
  let silent = 0;
  const timer = setInterval(() => {
    const beat = Atomics.load(beats, 0);
    silent = beat === last ? silent + 1 : 0;
    last = beat;
    if (silent < limit) return;
    silent = 0;
    try {
      const session = new Session();
      session.connectToMainThread();
      session.once("Debugger.paused", () =>
        session.post("Runtime.evaluate", { expression }, () => session.disconnect()),
      );
      session.post("Debugger.enable");
      session.post("Debugger.pause");
    } catch {
      clearInterval(timer);
      writeSync(2, uninspected + "\\n");
    }
  }, beatMs);
`;

/**
 * A blocked event loop can't handle signals. After a limit, prints where the project's code is, and
 * lets the next signal end the process until the loop runs again.
 */
export function letSignalsEndBlockedProcess(): void {
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  setInterval(() => Atomics.add(beats, 0, 1), HEARTBEAT_MS).unref();
  let areListenersRemoved = false;
  process.on(EVENT, () => {
    if (areListenersRemoved) return;
    areListenersRemoved = true;
    const restore = removeListeners();
    process.nextTick(() => {
      areListenersRemoved = false;
      restore();
    });
    const code = currentLocation();
    // Kit's own work may take as long on a busy machine, and needs no advice.
    if (code === undefined) return;
    printError(
      `kit: ${code} has blocked the event loop for ${LIMIT_S} s. Ctrl-C stops it at once.`,
    );
  });
  new Worker(CODE, {
    eval: true,
    execArgv: [],
    workerData: {
      beats,
      beatMs: HEARTBEAT_MS,
      limit: (LIMIT_S * 1000) / HEARTBEAT_MS,
      uninspected: `kit: something has blocked the event loop for ${LIMIT_S} s. If Ctrl-C doesn't stop it, end process ${process.pid}.`,
      expression: `process.emit(${JSON.stringify(EVENT)})`,
    },
  }).unref();
}

/** Removes the project's listeners too: any listener would keep the signal from ending the process. */
function removeListeners(): () => void {
  const removed = terminationSignals().map((signal) => ({
    signal,
    listeners: process.rawListeners(signal),
  }));
  for (const { signal } of removed) process.removeAllListeners(signal);
  return () => {
    for (const { signal, listeners } of removed) {
      for (const listener of listeners) process.on(signal, listener as NodeJS.SignalsListener);
    }
  };
}

function currentLocation(): string | undefined {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = Infinity;
  try {
    return sourceLocation(new Error());
  } finally {
    Error.stackTraceLimit = limit;
  }
}

const TIMER = `
  const { workerData } = require("node:worker_threads");
  const { writeSync } = require("node:fs");
  let ticks = workerData.limitMs / workerData.beatMs;
  setInterval(() => {
    if (--ticks > 0) return;
    writeSync(2, workerData.message + "\\n");
    process.kill(process.pid, "SIGKILL");
  }, workerData.beatMs);
`;

/** Prints a sentence and ends this process after a limit of time awake, even if its main thread is blocked. */
export function startWatchdog(limitMs: number, message: string): { stop: () => void } {
  const worker = new Worker(TIMER, {
    eval: true,
    execArgv: [],
    workerData: { limitMs, message, beatMs: Math.min(limitMs, HEARTBEAT_MS) },
  });
  worker.unref();
  return { stop: () => void worker.terminate() };
}
