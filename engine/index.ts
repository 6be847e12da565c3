import type { Engine } from "../protocol/engine.ts";
import { createInferThread } from "./inferThread.ts";
import { trainOnThread } from "./trainThread.ts";

export { EngineError, type EngineErrorCode } from "./error.ts";
export { assertRequest } from "./request.ts";
export { PRESETS, resolveModel, type ModelSource } from "./presets.ts";

/**
 * The embedded engine: gradient descent in WebAssembly, on threads of its own. Errors it can
 * foresee are `EngineError`s.
 */
export function createEngine(): Engine {
  const { load } = createInferThread();
  return { train: trainOnThread, load };
}
