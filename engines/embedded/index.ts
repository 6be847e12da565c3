import type { Engine } from "../../protocol/engine.ts";
import { OPTIMIZER_FILE, trainedBaseType } from "../checkpoint/trainerState.ts";
import { fetchBase } from "../lora/base.ts";
import { createInferThread } from "./infer/inferThread.ts";
import { prepare } from "./prepare.ts";
import { trainOnThread } from "./train/trainThread.ts";

/** The embedded engine: training and inference in WebAssembly, on its own threads. */
export function createEmbeddedEngine(): Engine {
  const thread = createInferThread();
  // Loaded lazily, because training runs on another thread.
  const check: Engine["check"] = async (options) =>
    (await import("./train/check.ts")).check(options);
  const load: Engine["load"] = async (directory, options) => {
    await fetchBase(directory, options);
    const quantize = options?.quantize ?? trainedBaseType(directory);
    return thread.load({ directory, ...(quantize && { quantize }) });
  };
  return {
    name: "embedded",
    resumeFiles: [OPTIMIZER_FILE],
    objectives: ["dpo", "kto"],
    prepare,
    check,
    train: trainOnThread,
    load,
  };
}
