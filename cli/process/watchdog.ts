import { Worker } from "node:worker_threads";

const CODE = `
  const { workerData } = require("node:worker_threads");
  const { writeSync } = require("node:fs");
  setTimeout(() => {
    writeSync(2, workerData.lastWords + "\\n");
    process.kill(process.pid, "SIGKILL");
  }, workerData.limitMs);
`;

/** Prints a sentence and ends this process after a limit, even if its main thread is blocked. */
export function startWatchdog(limitMs: number, lastWords: string): { stop: () => void } {
  const worker = new Worker(CODE, {
    eval: true,
    execArgv: [],
    workerData: { limitMs, lastWords },
  });
  worker.unref();
  return { stop: () => void worker.terminate() };
}
