import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describeEnd } from "../../../disk/processEnd.ts";
import { ARTIFACTS } from "../../../protocol/artifactPath.ts";
import type { CheckOptions, TrainOptions } from "../../../protocol/engine.ts";
import { KitError, isKitError, messageOf } from "../../../protocol/error.ts";
import type { TrainingCheck } from "../../../protocol/trainingCheck.ts";
import { removePartial } from "../../checkpoint/directory.ts";
import { locateModel } from "../../checkpoint/locateModel.ts";
import { type TrainListeners, outcomeOf } from "../../embedded/messages.ts";
import { makeCheckFolder, removeCheckFolder } from "../../training/checkFolder.ts";
import { measuresLoss } from "../../training/checkTraining.ts";
import { NO_DRIVER } from "../device/dawn.ts";
import type { GpuJob } from "./messages.ts";

/** Characters of the process's output to keep. */
const MAX_PRINTED = 2 ** 16;

type Gpu = Pick<GpuJob, "options" | "project">;

/**
 * Trains in a process of its own, which has exited when this settles.
 * @param start starts it
 */
export async function trainInProcess(
  gpu: Gpu,
  options: TrainOptions,
  start = startProcess,
): Promise<void> {
  const { config, directory, resumeFrom, signal } = options;
  signal.throwIfAborted();
  const source = await locateModel(config.model, options);
  const job = { config, directory, source, resumeFrom };
  try {
    await runInProcess({ ...gpu, ...job }, options, start);
  } finally {
    removePartial(join(directory, ARTIFACTS));
  }
}

/** Checks a training run as it would train, on the GPU. */
export async function checkInProcess(
  gpu: Gpu,
  requested: CheckOptions,
  start = startProcess,
): Promise<TrainingCheck> {
  const { config, onNote, signal } = requested;
  const source = await locateModel(config.model, { onNote });
  const directory = makeCheckFolder();
  const job = { ...gpu, config, directory, source, resumeFrom: undefined };
  try {
    const check = { measures: measuresLoss(requested) };
    const listeners = { signal, onNote, onEvent: () => {} };
    return (await runInProcess({ ...job, check }, listeners, start))!;
  } finally {
    removeCheckFolder(directory);
  }
}

/** Dawn ends a process that ends its thread, and its crash must not end this one. @returns the check's result */
async function runInProcess(
  job: GpuJob,
  listeners: TrainListeners,
  start: () => ChildProcess,
): Promise<TrainingCheck | undefined> {
  const child = start();
  const closed = once(child, "close");
  let printed = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    if (process.env["DEBUG"] === "kit") process.stderr.write(text);
    printed = (printed + text).slice(0, MAX_PRINTED);
  });
  const end = async () => {
    // Safe in a step, because checkpoints are renamed into place.
    child.kill("SIGKILL");
    await closed.catch(() => {});
  };
  try {
    child.send(job);
    return await outcomeOf(listeners, (onMessage, fail) => {
      child.on("message", onMessage);
      child.on("error", (error) => fail(processFailed(messageOf(error), error)));
      child.on("exit", (code, ended) => fail(processFailed(describeEnd(code, ended))));
    });
  } catch (error) {
    await end();
    throw withRefusal(error, printed);
  } finally {
    await end();
  }
}

function startProcess(): ChildProcess {
  const worker = fileURLToPath(new URL("./trainWorker.js", import.meta.url));
  return spawn(process.execPath, [worker], {
    serialization: "advanced",
    // Without the folder, Vulkan's loader complains.
    env: { XDG_RUNTIME_DIR: tmpdir(), ...process.env },
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    windowsHide: true,
  });
}

/** Adds why Dawn refused a driver, which it only prints among drivers' warnings. */
function withRefusal(error: unknown, printed: string): unknown {
  const [, refusal] = /^Warning: (.+)\n - While initializing adapter/m.exec(printed) ?? [];
  if (!refusal || !isKitError(error) || !error.message.includes(NO_DRIVER)) return error;
  const reason = `a driver lacks what WebGPU needs: ${refusal.replace(/\.$/, "")}`;
  return new KitError(error.code, error.message.replace(NO_DRIVER, reason), { cause: error });
}

function processFailed(why: string, cause?: unknown): KitError {
  const advice =
    why === "SIGKILL"
      ? "The system may have ended it for lack of memory: end other programs"
      : "Update the GPU's driver";
  return new KitError(
    "WORKER_FAILED",
    `The GPU's process exited unexpectedly (${why}). ${advice}, then run kit start --resume.`,
    { cause },
  );
}
