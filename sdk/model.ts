import { resolve } from "node:path";
import { inspect } from "node:util";
import { createEngine } from "../engines/embedded/index.ts";
import type { LoadedModel } from "../protocol/engine.ts";
import { KitError } from "../protocol/error.ts";
import type { Infer } from "./callbacks.ts";
import { findArtifact } from "./artifact.ts";
import { atCaller } from "./thrown.ts";

/**
 * Loads a checkpoint to ask it, after its job or outside of any:
 * `await loadModel(".kit/jobs/<id>/artifacts/step-400")`; of a job's directory, the last that it
 * has saved. Close it when done.
 * @throws KitError `CHECKPOINT_INVALID` when the directory holds no checkpoint
 */
export function loadModel(directory: string): Promise<LoadedModel> {
  return atCaller(loadModel, async () => {
    if (typeof directory !== "string") {
      throw new KitError(
        "INVALID_OPTION",
        `loadModel takes the path of a checkpoint's directory, not ${inspect(directory)}.`,
      );
    }
    const { infer: answer, close } = await createEngine().load(findArtifact(resolve(directory)));
    const infer: Infer = (request) => atCaller(infer, () => answer(request));
    return { infer, close };
  });
}
