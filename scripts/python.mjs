// `npm run python`: a Python environment for the tests of the Python engine and the benchmark, from a pinned list.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./files.mjs";
import { ENVIRONMENT, LIST, STAMP, isComplete } from "./pythonEnvironment.mjs";

const PROGRAMS = ["python3", "python3.13", "python3.12", "python3.11", "python3.10", "python"];
const NEW_ENOUGH = "import sys; sys.exit(sys.version_info < (3, 10))";

process.exitCode = isComplete() ? 0 : makeEnvironment();

/** Adds to the one that is there. Returns the exit code. */
function makeEnvironment() {
  const python = join(ENVIRONMENT, "bin", "python");
  if (!existsSync(python)) {
    const program = PROGRAMS.find((name) => spawnSync(name, ["-c", NEW_ENOUGH]).status === 0);
    if (!program) {
      console.error(
        "kit: There is no Python 3.10 or newer here. Install one, with its venv module.",
      );
      return 1;
    }
    const made = run(program, "-m", "venv", ENVIRONMENT);
    if (made !== 0) return made;
  }
  const installed = run(python, "-m", "pip", "install", "--quiet", "--requirement", LIST);
  if (installed === 0) writeFileSync(STAMP, readFileSync(LIST, "utf8"));
  return installed;
}

function run(name, ...args) {
  return spawnSync(name, args, { cwd: ROOT, stdio: "inherit" }).status ?? 1;
}
