import type { Engine } from "../../protocol/engine.ts";
import { createInferThread } from "./infer/inferThread.ts";
import { trainOnThread } from "./train/trainThread.ts";

export { resolveModel, type ModelSource } from "../llama/presets.ts";
export { assertRequest } from "../inferRequest.ts";
export { PROJECTIONS } from "../llama/weights.ts";

/**
 * The embedded engine: gradient descent in WebAssembly, on threads of its own. Errors it can
 * foresee are `EngineError`s.
 */
export function createEngine(): Engine {
  const { load } = createInferThread();
  return { train: trainOnThread, load };
}
