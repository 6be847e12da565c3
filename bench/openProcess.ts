import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { newerNode } from "./newerNode.ts";
import { type OpenModel, type OpenModelSizes, makeOpenModel } from "./openModel.ts";
import { ROOT, program } from "./paths.ts";
import type { Scope } from "./scope.ts";
import { type Worker, startWorker } from "./worker.ts";

/** Modes of `programs/openModel.ts` and `python/openModel.py`. */
type Mode = "learn" | "mixed" | "prefer" | "train" | "ask";
type Sizes = Omit<OpenModelSizes, keyof OpenModel>;

/** Starts processes that work on one model. */
export interface OpenProcesses {
  ours: <Answer>(mode: Mode, sizes: Sizes) => Worker<Answer>;
  /** Undefined without the bench's Python environment. */
  torch: (<Answer>(mode: Mode, sizes: Sizes) => Worker<Answer>) | undefined;
  /** Whether that environment has TRL. */
  hasTrl: boolean;
}

const PYTHON = join(ROOT, ".python", "bin", "python");
const SCRIPT = join(ROOT, "bench", "python", "openModel.py");

export function openProcesses(scope: Scope): OpenProcesses {
  const model = makeOpenModel(scope);
  const start =
    (program: (sizes: Sizes) => [string, string]) =>
    <Answer>(mode: Mode, sizes: Sizes) => {
      const [command, file] = program(sizes);
      return startWorker<Answer>(scope, command, [
        file,
        mode,
        JSON.stringify({ ...model, ...sizes }),
      ]);
    };
  const isTiny = scope.size === "tiny";
  const nodeOf = ({ simd }: Sizes) =>
    simd === "relaxed" && !isTiny ? newerNode() : process.execPath;
  const hasTorch = existsSync(PYTHON) && !isTiny;
  return {
    ours: start((sizes) => [nodeOf(sizes), program("openModel")]),
    torch: hasTorch ? start(() => [PYTHON, SCRIPT]) : undefined,
    hasTrl: hasTorch && spawnSync(PYTHON, ["-c", "import trl"]).status === 0,
  };
}
