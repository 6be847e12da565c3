import type { Engine } from "../../protocol/engine.ts";
import type { LlamaOptions } from "../../protocol/engineOptions.ts";
import { KitError } from "../../protocol/error.ts";

/**
 * The llama.cpp engine, for inference only, through the project's node-llama-cpp.
 * @param project folder to resolve it from
 */
export function createLlamaEngine(options: LlamaOptions = {}, project = process.cwd()): Engine {
  let models: Promise<Pick<Engine, "load">> | undefined;
  return {
    name: "llama",
    prepare: refuseTraining,
    check: () => Promise.reject(inferenceOnly()),
    train: () => Promise.reject(inferenceOnly()),
    async load(directory, loadOptions) {
      models ??= import("./models.ts").then((module) => module.createLlamaModels(options, project));
      return (await models).load(directory, loadOptions);
    },
  };
}

function refuseTraining(): never {
  throw inferenceOnly();
}

function inferenceOnly(): KitError {
  return new KitError(
    "CONFIG_INVALID",
    'llama() only answers. Remove "engine" from the trainer, or use python() or ray(), and pass llama() to loadModel.',
  );
}
