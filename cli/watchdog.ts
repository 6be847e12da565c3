import { Worker } from "node:worker_threads";

const CODE = `
  const { workerData } = require("node:worker_threads");
  const { writeSync } = require("node:fs");
  setTimeout(() => {
    writeSync(2, workerData.lastWords + "\\n");
    process.kill(process.pid, "SIGKILL");
  }, workerData.limitMs);
`;

/** Ends this process with a sentence after a limit, even while its own thread is in a loop. */
export function startWatchdog(limitMs: number, lastWords: string): { stop: () => void } {
  const worker = new Worker(CODE, {
    eval: true,
    execArgv: [],
    workerData: { limitMs, lastWords },
  });
  worker.unref();
  return { stop: () => void worker.terminate() };
}
