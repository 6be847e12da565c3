import { createPythonEngine } from "../engines/python/index.ts";
import type { Engine } from "../protocol/engine.ts";
import type { PythonOptions } from "../protocol/pythonOptions.ts";
import { checkPythonOptions } from "./pythonOptions.ts";

export type { PythonOptions } from "../protocol/pythonOptions.ts";

/**
 * The Python engine, for a CUDA GPU or Apple's: PyTorch, transformers' Trainer and PEFT, in processes
 * of their own. Looks for no Python before something is trained or loaded.
 * @example createTrainer({ name: "mine", dataset, engine: python() })
 * @throws KitError `OPTION_INVALID` naming the option and what was expected
 */
export function python(options: PythonOptions = {}): Engine {
  return createPythonEngine(checkPythonOptions(options));
}
