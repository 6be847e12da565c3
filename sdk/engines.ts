import { createLlamaEngine } from "../engines/llama/index.ts";
import { createPythonEngine } from "../engines/python/index.ts";
import { createRayEngine } from "../engines/ray/index.ts";
import { createWebgpuEngine } from "../engines/webgpu/index.ts";
import type { Engine } from "../protocol/engine.ts";
import type {
  LlamaOptions,
  PythonOptions,
  RayOptions,
  WebgpuOptions,
} from "../protocol/engineOptions.ts";
import {
  checkLlamaOptions,
  checkPythonOptions,
  checkRayOptions,
  checkWebgpuOptions,
} from "./validation/engineOptions.ts";

export type {
  LlamaOptions,
  PythonOptions,
  RayOptions,
  WebgpuOptions,
} from "../protocol/engineOptions.ts";

/**
 * The Python engine, for CUDA and Apple GPUs: PyTorch, transformers' Trainer and PEFT in subprocesses.
 * Looks for Python only when something is trained or loaded.
 * @example createTrainer({ name: "mine", dataset, engine: python() })
 * @throws KitError `OPTION_INVALID` naming the option and what was expected
 */
export function python(options: PythonOptions = {}): Engine {
  return createPythonEngine(checkPythonOptions(options));
}

/**
 * The Ray engine: the Python engine's training on the workers of a Ray cluster. Contacts the cluster only
 * when something is checked or trained.
 * @example createTrainer({ name: "mine", dataset, engine: ray({ address: "http://head:8265" }) })
 * @throws KitError `OPTION_INVALID` naming the option and what was expected
 */
export function ray(options: RayOptions = {}): Engine {
  return createRayEngine(checkRayOptions(options));
}

/**
 * The llama.cpp engine, for inference only: on Metal, CUDA, Vulkan or a CPU, through the project's
 * `node-llama-cpp`. Converts the model to GGUF once, beside it.
 * @example const model = await loadModel(".kit/jobs/<id>", { engine: llama() });
 * @throws KitError `OPTION_INVALID` naming the option and what was expected
 */
export function llama(options: LlamaOptions = {}): Engine {
  return createLlamaEngine(checkLlamaOptions(options));
}

/**
 * The WebGPU engine: training on Metal, Direct3D 12 or Vulkan through the project's `webgpu`, without Python. The
 * embedded engine answers with what it trained. Looks for a GPU only when something is checked or trained.
 * @example createTrainer({ name: "mine", dataset, engine: webgpu() })
 * @throws KitError `OPTION_INVALID` naming the option and what was expected
 */
export function webgpu(options: WebgpuOptions = {}): Engine {
  return createWebgpuEngine(checkWebgpuOptions(options));
}
