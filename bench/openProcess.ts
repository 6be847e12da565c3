import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { newerNode } from "./newerNode.ts";
import {
  type OpenModel,
  type OpenModelSizes,
  OPEN_SHAPE,
  TINY_OPEN_SHAPE,
  makeOpenModel,
} from "./openModel.ts";
import { ROOT, program } from "./places.ts";
import type { Scope } from "./scope.ts";
import { type Asked, startAsked } from "./stepper.ts";

/** What a process does: those of `programs/openModel.ts` and `python/openModel.py`. */
type Mode = "learn" | "mixed" | "prefer" | "train" | "infer" | "ask";
type Sizes = Omit<OpenModelSizes, keyof OpenModel>;

/** Processes at work on one model. */
export interface OpenProcesses {
  ours: <Answer>(mode: Mode, sizes: Sizes) => Asked<Answer>;
  /** None without the bench's Python environment. */
  torch: (<Answer>(mode: Mode, sizes: Sizes) => Asked<Answer>) | undefined;
  /** Whether that has TRL. */
  hasTrl: boolean;
}

const PYTHON = join(ROOT, ".python", "bin", "python");
const SCRIPT = join(ROOT, "bench", "python", "openModel.py");

/** Makes a model for a row. */
export function openProcesses(scope: Scope): OpenProcesses {
  const shape = scope.pick({ full: OPEN_SHAPE, quick: OPEN_SHAPE, tiny: TINY_OPEN_SHAPE });
  const model = makeOpenModel(scope.folder(), shape);
  const start =
    (program: (sizes: Sizes) => [string, string]) =>
    <Answer>(mode: Mode, sizes: Sizes) => {
      const [command, file] = program(sizes);
      return startAsked<Answer>(scope, command, [
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
