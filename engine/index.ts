import type { Engine } from "../protocol/engine.ts";
import { createInferThread } from "./inferThread.ts";
import { trainOnThread } from "./trainThread.ts";

export { resolveModel, type ModelSource, type PresetName } from "./presets.ts";
export { assertRequest } from "./request.ts";
export { PROJECTIONS, type Projection } from "./weights.ts";

/**
 * The embedded engine: gradient descent in WebAssembly, on threads of its own. Errors it can
 * foresee are `EngineError`s.
 */
export function createEngine(): Engine {
  const { load } = createInferThread();
  return { train: trainOnThread, load };
}
