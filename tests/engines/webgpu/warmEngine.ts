import { type ChildProcess, fork } from "node:child_process";
import { EventEmitter } from "node:events";
import { fileURLToPath } from "node:url";
import type * as processes from "../../../engines/webgpu/train/trainProcess.ts";
import type { Engine } from "../../../protocol/engine.ts";
import { createWebgpuEngine } from "./built.ts";
import { PROJECT } from "./device.ts";

const { checkInProcess, trainInProcess } = (await import(
  new URL("../../../dist/engines/webgpu/train/trainProcess.js", import.meta.url).href
)) as typeof processes;

const WORKER = fileURLToPath(new URL("warmWorker.mjs", import.meta.url));
const GPU = { options: {}, project: PROJECT };

/** The engine, but for a process that outlives a job, because SwiftShader takes most of a short one to compile. */
export function createWarmEngine(): Engine {
  return {
    ...createWebgpuEngine({}, PROJECT),
    train: (requested) => trainInProcess(GPU, requested, startWarm),
    check: (requested) => checkInProcess(GPU, requested, startWarm),
  };
}

/** A process that waits for its next job. */
let idle: ChildProcess | undefined;

function startProcess(): ChildProcess {
  const child = fork(WORKER, {
    serialization: "advanced",
    execArgv: [],
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  // It ends with the tests' process.
  child.unref();
  child.channel?.unref();
  return child;
}

/** A process as a job sees it, which only ends where the job hasn't. */
function startWarm(): ChildProcess {
  const child = idle ?? startProcess();
  idle = undefined;
  const job = new EventEmitter();
  let isDone = false;
  const onMessage = (message: { type: string }) => {
    isDone = message.type === "done" || message.type === "failed";
    job.emit("message", message);
  };
  const onExit = (code: number | undefined, signal: string) => job.emit("exit", code, signal);
  const onClose = () => job.emit("close");
  child.on("message", onMessage).on("exit", onExit).on("close", onClose);
  return Object.assign(job, {
    send: (message: object) => child.send(message),
    kill() {
      child.off("message", onMessage);
      if (!isDone) return child.kill("SIGKILL");
      child.off("exit", onExit).off("close", onClose);
      idle = child;
      queueMicrotask(onClose);
      return true;
    },
  }) as unknown as ChildProcess;
}
