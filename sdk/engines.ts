import { createLlamaEngine } from "../engines/llama/index.ts";
import { createPythonEngine } from "../engines/python/index.ts";
import { createRayEngine } from "../engines/ray/index.ts";
import type { Engine } from "../protocol/engine.ts";
import type { LlamaOptions, PythonOptions, RayOptions } from "../protocol/engineOptions.ts";
import {
  checkLlamaOptions,
  checkPythonOptions,
  checkRayOptions,
} from "./validation/engineOptions.ts";

export type { LlamaOptions, PythonOptions, RayOptions } from "../protocol/engineOptions.ts";

/**
 * The Python engine, for a CUDA GPU or Apple's: PyTorch, transformers' Trainer and PEFT, in processes
 * of their own. Looks for no Python before something is trained or loaded.
 * @example createTrainer({ name: "mine", dataset, engine: python() })
 * @throws KitError `OPTION_INVALID` naming the option and what was expected
 */
export function python(options: PythonOptions = {}): Engine {
  return createPythonEngine(checkPythonOptions(options));
}

/**
 * The Ray engine: the Python engine's training on the workers of a Ray cluster. Asks the cluster
 * nothing before something is checked or trained.
 * @example createTrainer({ name: "mine", dataset, engine: ray({ address: "http://head:8265" }) })
 * @throws KitError `OPTION_INVALID` naming the option and what was expected
 */
export function ray(options: RayOptions = {}): Engine {
  return createRayEngine(checkRayOptions(options));
}

/**
 * The llama.cpp engine, which only answers: on Metal, CUDA, Vulkan or a CPU, as the project's `node-llama-cpp` finds
 * them. Makes a GGUF file once, beside the model.
 * @example const model = await loadModel(".kit/jobs/<id>", { engine: llama() });
 * @throws KitError `OPTION_INVALID` naming the option and what was expected
 */
export function llama(options: LlamaOptions = {}): Engine {
  return createLlamaEngine(checkLlamaOptions(options));
}
