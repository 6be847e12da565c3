import { resolve } from "node:path";
import { inspect } from "node:util";
import type { Engine, LoadedModel } from "../protocol/engine.ts";
import { KitError } from "../protocol/error.ts";
import { createDefaultEngine } from "./engine.ts";
import { guardModel } from "./loadedModel.ts";

/**
 * Loads a checkpoint to ask it, after its job or outside of any:
 * `await loadModel(".kit/jobs/<id>/artifacts/step-400")`. Close it when done.
 * @throws KitError `CHECKPOINT_INVALID` when the directory holds no checkpoint
 */
export async function loadModel(
  directory: string,
  { engine = createDefaultEngine() }: { engine?: Engine } = {},
): Promise<LoadedModel> {
  if (typeof directory !== "string") {
    throw new KitError(
      "INVALID_OPTION",
      `loadModel takes the path of a checkpoint's directory, not ${inspect(directory)}.`,
    );
  }
  return guardModel(await engine.load(resolve(directory)));
}
