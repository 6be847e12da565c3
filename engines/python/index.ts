import type { Engine } from "../../protocol/engine.ts";
import type { PythonOptions } from "../../protocol/engineOptions.ts";
import { prepare } from "./prepare.ts";
import { createPython } from "./python.ts";

/** The Python engine: PyTorch, transformers' Trainer and PEFT in subprocesses. */
export function createPythonEngine(options: PythonOptions = {}): Engine {
  const python = createPython(options);
  let loader: Promise<Pick<Engine, "load">> | undefined;
  // Lazy imports: a project is loaded more often than it trains.
  return {
    name: "python",
    objectives: ["dpo", "kto"],
    resumeFiles: ["optimizer.pt", "scheduler.pt", "rng_state.pth"],
    prepare: (requested) => prepare(requested, options),
    check: async (requested) => (await import("./check.ts")).check(python, requested),
    train: async (requested) => (await import("./train.ts")).train(python, requested),
    async load(directory, options) {
      loader ??= import("./answers.ts").then((module) => module.createModelLoader(python));
      return (await loader).load(directory, options);
    },
  };
}
