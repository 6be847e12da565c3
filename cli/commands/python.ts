import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { makeDirectory } from "../../disk/file.ts";
import { type Lock, takeLock } from "../../disk/lock.ts";
import { describeEnd } from "../../disk/processEnd.ts";
import { hasGroups, signalTree } from "../../disk/processTree.ts";
import { pythonCommands, pythonOfEnvironment } from "../../disk/pythonProgram.ts";
import { KitError, messageOf } from "../../protocol/error.ts";
import { createCommand, projectOption } from "../command.ts";
import { PACKAGE } from "../packages/kitPackage.ts";
import { EXIT_CODE } from "../process/exitCode.ts";
import { onTerminationSignal } from "../process/signals.ts";
import { enterProject } from "../project/folder.ts";
import { print } from "../terminal/print.ts";

type Step = [program: string, ...args: string[]];

/** Not locked by hash: each platform has its own build, for CUDA, Apple's GPU or the CPU. */
const TORCH = "torch==2.13.0";
/** All other packages, with their hashes. */
const LOCKED = ["--require-hashes", "--no-deps", "--requirement", PACKAGE.pythonLock];

/** Creates the project's `.kit/python`, or completes it. */
const install = createCommand("install", {
  "kit python install": "use uv if installed, otherwise venv and pip",
})
  .description(
    "install tested versions of torch, transformers, peft, accelerate, trl and quickjs-ng into .kit/python",
  )
  .addOption(projectOption())
  .action(async (options) => {
    const project = enterProject(options.project);
    const folder = join(project, ".kit", "python");
    makeDirectory(join(project, ".kit"));
    const abort = new AbortController();
    const { signal } = abort;
    onTerminationSignal(() => abort.abort());
    const onWait = () => print("waiting for another kit python install in this project");
    let lock: Lock | undefined;
    try {
      lock = await takeLock(`${folder}.lock`, Infinity, { signal, onWait });
      const steps = canRun("uv", "--version") ? uvSteps(folder) : pipSteps(findPython(), folder);
      // A step outlives a killed Kit, so it shares the lock.
      const onStarted = (pid: number) => lock?.shareWith(pid);
      for (const step of steps) await runStep(step, project, { signal, onStarted });
    } catch (error) {
      if (!signal.aborted) throw error;
      process.exitCode = EXIT_CODE.cancelled;
      return;
    } finally {
      lock?.release();
    }
    print(`installed ${folder} for engine: python()`);
  });

export const command = createCommand("python").addCommand(install);

interface StepOptions {
  signal: AbortSignal;
  onStarted: (pid: number) => void;
}

/** Runs a step, and ends it with its descendants when the signal is aborted. */
async function runStep([program, ...args]: Step, cwd: string, { signal, onStarted }: StepOptions) {
  signal.throwIfAborted();
  const child = spawn(program, args, {
    cwd,
    stdio: "inherit",
    detached: hasGroups(),
    windowsHide: true,
  });
  if (child.pid !== undefined) onStarted(child.pid);
  const end = () => void signalTree(child, "SIGTERM");
  signal.addEventListener("abort", end);
  const why = await once(child, "close").then((end) => {
    const [code, signal] = end as Parameters<typeof describeEnd>;
    return code === 0 ? undefined : describeEnd(code, signal);
  }, messageOf);
  signal.removeEventListener("abort", end);
  signal.throwIfAborted();
  if (why === undefined) return;
  throw new KitError(
    "PYTHON_UNFIT",
    `${program} ${args[0] === "-m" ? args[1] : args[0]} failed (${why}). Fix the problem shown above, then run kit python install again.`,
  );
}

function uvSteps(folder: string): Step[] {
  const pipInstall: Step = ["uv", "pip", "install", "--python", pythonOfEnvironment(folder)];
  return [
    ["uv", "venv", "--allow-existing", "--python", ">=3.10", folder],
    [...pipInstall, ...LOCKED],
    [...pipInstall, "--torch-backend=auto", TORCH],
  ];
}

function pipSteps(python: string, folder: string): Step[] {
  const pipInstall: Step = [pythonOfEnvironment(folder), "-m", "pip", "install"];
  return [
    [python, "-m", "venv", folder],
    [...pipInstall, ...LOCKED],
    [...pipInstall, TORCH],
  ];
}

const NEW_ENOUGH = "import sys; sys.exit(sys.version_info < (3, 10))";

function findPython(): string {
  const python = pythonCommands().find((name) => canRun(name, "-c", NEW_ENOUGH));
  if (python !== undefined) return python;
  throw new KitError(
    "PYTHON_NOT_FOUND",
    "There is no Python 3.10 or newer on the PATH. Install one with its venv module, or uv.",
  );
}

function canRun(program: string, ...args: string[]): boolean {
  return spawnSync(program, args, { stdio: "ignore", windowsHide: true }).status === 0;
}
