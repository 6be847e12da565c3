import { resolve } from "node:path";
import { inspect } from "node:util";
import { isRemoteArtifact } from "../../jobs/artifactFiles.ts";
import type { Engine, LoadOptions, LoadedModel } from "../../protocol/engine.ts";
import { KitError } from "../../protocol/error.ts";
import { QUANTIZED_TYPES } from "../../protocol/exportFormat.ts";
import { createDefaultEngine } from "../engine.ts";
import { withCallerStack } from "../projectCode.ts";
import { findArtifact, remoteOf } from "./artifact.ts";
import { type GuardedModel, guardModel } from "./engineModel.ts";

/** How to load a model. */
export interface LoadModelOptions extends LoadOptions {
  /** Default: the embedded one. */
  engine?: Engine;
}

/**
 * Loads a checkpoint for inference; for a job's directory, its result. Close the model when done.
 * @param directory relative to the current directory
 * @param options `onNote` gets notes on downloads, such as an adapter's base
 * @throws KitError `OPTION_INVALID`; `CHECKPOINT_INVALID` when the directory holds no checkpoint, or one of
 * a job that has saved none; `MODEL_REFUSED`, `HUB_UNREACHABLE` for a base that cannot be downloaded
 * @example
 * const model = await loadModel(".kit/jobs/<id>");
 * const { text } = await model.infer({ prompt: "7th of March 1998" });
 * await model.close();
 */
export function loadModel(directory: string, options?: LoadModelOptions): Promise<LoadedModel> {
  return withCallerStack(loadModel, () => loadGuarded(directory, options));
}

/**
 * Like `loadModel`, but the model also streams deltas to Kit.
 * @throws KitError as `loadModel`
 */
export async function loadGuarded(
  directory: string,
  { engine = createDefaultEngine(), ...options }: LoadModelOptions = {},
): Promise<GuardedModel> {
  if (typeof directory !== "string") {
    throw new KitError(
      "OPTION_INVALID",
      `loadModel takes the path of a checkpoint's directory, not ${inspect(directory)}.`,
    );
  }
  const { quantize } = options;
  if (quantize !== undefined && !QUANTIZED_TYPES.includes(quantize)) {
    throw new KitError(
      "OPTION_INVALID",
      `quantize must be "${QUANTIZED_TYPES.join('" or "')}", not ${inspect(quantize)}.`,
    );
  }
  const found = findArtifact(resolve(directory));
  // Throws an error that names the engine needed.
  if (isRemoteArtifact(found)) remoteOf(engine, found);
  return guardModel(engine.name, await engine.load(found, options));
}
