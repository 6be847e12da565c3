import type { Engine } from "../../protocol/engine.ts";
import type { PythonOptions } from "../../protocol/pythonOptions.ts";
import { createAnswers } from "./answers.ts";
import { check } from "./check.ts";
import { prepare } from "./prepare.ts";
import { createPython } from "./python.ts";
import { train } from "./train.ts";

/** The Python engine: PyTorch, transformers' Trainer and PEFT, in processes of their own. */
export function createPythonEngine(options: PythonOptions = {}): Engine {
  const python = createPython(options);
  return {
    name: "python",
    resumeFiles: ["optimizer.pt", "scheduler.pt", "rng_state.pth"],
    prepare: (asked) => prepare(asked, options),
    check: (asked) => check(python, asked),
    train: (asked) => train(python, asked),
    load: createAnswers(python).load,
  };
}
