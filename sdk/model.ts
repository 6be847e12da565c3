import { resolve } from "node:path";
import { createEngine } from "../engine/index.ts";
import type { LoadedModel } from "../protocol/engine.ts";

/**
 * Loads a checkpoint to ask it, after its job or outside of any:
 * `await loadModel(".kit/jobs/<id>/artifacts/step-400")`. Close it when done.
 * @throws when the directory holds no checkpoint
 */
export function loadModel(directory: string): Promise<LoadedModel> {
  return createEngine().load(resolve(directory));
}
