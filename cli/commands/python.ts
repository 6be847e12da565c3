import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { makeDirectory } from "../../disk/file.ts";
import { KitError } from "../../protocol/error.ts";
import { PACKAGE } from "../packages/own.ts";
import { print } from "../print.ts";
import { enterProject } from "../project.ts";

type Step = [program: string, ...words: string[]];

/** It comes by the platform's own rule: with CUDA, for Apple's GPU, or for the processor alone. */
const TORCH = "torch==2.13.0";
/** All others, with their hashes. */
const LOCKED = ["--require-hashes", "--no-deps", "--requirement", PACKAGE.pythonLock];

/** Makes the project's `.kit/python`, or adds what is missing there. */
export function installPython(options: { project: string }): void {
  const project = enterProject(options.project);
  const folder = join(project, ".kit", "python");
  makeDirectory(join(project, ".kit"));
  const steps = isThere("uv", "--version") ? uvSteps(folder) : pipSteps(findPython(), folder);
  for (const [program, ...words] of steps) {
    const { status, error } = spawnSync(program, words, { cwd: project, stdio: "inherit" });
    if (status === 0) continue;
    throw new KitError(
      "PYTHON_UNFIT",
      `${program} ${words[0] === "-m" ? words[1] : words[0]} failed (${error?.message ?? `code ${status}`}). Fix the problem shown above, then run kit python install again.`,
    );
  }
  print(`installed ${folder} for engine: python()`);
}

function uvSteps(folder: string): Step[] {
  const into: Step = ["uv", "pip", "install", "--python", join(folder, "bin", "python")];
  return [
    ["uv", "venv", "--allow-existing", "--python", ">=3.10", folder],
    [...into, ...LOCKED],
    [...into, "--torch-backend=auto", TORCH],
  ];
}

function pipSteps(python: string, folder: string): Step[] {
  const into: Step = [join(folder, "bin", "python"), "-m", "pip", "install"];
  return [
    [python, "-m", "venv", folder],
    [...into, ...LOCKED],
    [...into, TORCH],
  ];
}

const NAMES = ["python3", "python3.13", "python3.12", "python3.11", "python3.10"];
const NEW_ENOUGH = "import sys; sys.exit(sys.version_info < (3, 10))";

function findPython(): string {
  const found = NAMES.find((name) => isThere(name, "-c", NEW_ENOUGH));
  if (found !== undefined) return found;
  throw new KitError(
    "PYTHON_NOT_FOUND",
    "There is no Python 3.10 or newer on the PATH. Install one with its venv module, or uv.",
  );
}

function isThere(program: string, ...words: string[]): boolean {
  return spawnSync(program, words, { stdio: "ignore" }).status === 0;
}
