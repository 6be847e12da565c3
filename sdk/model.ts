import { resolve } from "node:path";
import { inspect } from "node:util";
import { createEngine } from "../engines/embedded/index.ts";
import type { LoadedModel } from "../protocol/engine.ts";
import { KitError } from "../protocol/error.ts";

/**
 * Loads a checkpoint to ask it, after its job or outside of any:
 * `await loadModel(".kit/jobs/<id>/artifacts/step-400")`. Close it when done.
 * @throws KitError `CHECKPOINT_INVALID` when the directory holds no checkpoint
 */
export async function loadModel(directory: string): Promise<LoadedModel> {
  if (typeof directory !== "string") {
    throw new KitError(
      "INVALID_OPTION",
      `loadModel takes the path of a checkpoint's directory, not ${inspect(directory)}.`,
    );
  }
  return createEngine().load(resolve(directory));
}
