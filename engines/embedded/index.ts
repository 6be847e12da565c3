import type { Engine } from "../../protocol/engine.ts";
import type { QuantizedType } from "../../protocol/quantizedType.ts";
import { OPTIMIZER_FILE, trainedBaseType } from "../checkpoint/trainerState.ts";
import { fetchBase } from "../lora/base.ts";
import { createInferThread } from "./infer/inferThread.ts";
import { prepare } from "./prepare.ts";
import { trainOnThread } from "./train/trainThread.ts";

/**
 * The embedded engine: gradient descent in WebAssembly, on threads of its own.
 */
export function createEmbeddedEngine(): Engine {
  const thread = createInferThread();
  // Loaded when it is needed: a project that only trains does so on another thread.
  const check: Engine["check"] = async (options) =>
    (await import("./train/check.ts")).check(options);
  const load: Engine["load"] = async (directory, options) => {
    await fetchBase(directory, options);
    const quantize = options?.quantize ?? (await storedType(directory));
    return thread.load({ directory, ...(quantize && { quantize }) });
  };
  return {
    name: "embedded",
    resumeFiles: [OPTIMIZER_FILE],
    objectives: ["dpo", "kto"],
    ...{ prepare, check, train: trainOnThread, load },
  };
}

/** The type that an adapter's base had in training, or that of a GGUF file, whose numbers become the same blocks again. */
async function storedType(path: string): Promise<QuantizedType | undefined> {
  if (!path.endsWith(".gguf")) return trainedBaseType(path);
  const { isModelFile, quantizedTypeOf } = await import("../checkpoint/ggufModel.ts");
  return isModelFile(path) ? quantizedTypeOf(path) : undefined;
}
