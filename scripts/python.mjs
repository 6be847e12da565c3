// `npm run python`: a Python environment for the benchmark, in a folder that git ignores, from a pinned list.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./files.mjs";

const FOLDER = join(ROOT, ".python");
const LIST = join(ROOT, "bench", "python", "requirements.txt");
/** Holds the list that the environment was made from. */
const STAMP = join(FOLDER, "kit-requirements.txt");
const PROGRAMS = ["python3", "python3.13", "python3.12", "python3.11", "python3.10", "python"];
const NEW_ENOUGH = "import sys; sys.exit(sys.version_info < (3, 10))";

const list = readFileSync(LIST, "utf8");
const isDone = existsSync(STAMP) && readFileSync(STAMP, "utf8") === list;
process.exitCode = isDone ? 0 : makeEnvironment();

/** Returns the exit code. */
function makeEnvironment() {
  const program = PROGRAMS.find((name) => spawnSync(name, ["-c", NEW_ENOUGH]).status === 0);
  if (!program) {
    console.error("kit: There is no Python 3.10 or newer here. Install one, with its venv module.");
    return 1;
  }
  rmSync(FOLDER, { recursive: true, force: true });
  const python = join(FOLDER, "bin", "python");
  const steps = [
    [program, "-m", "venv", FOLDER],
    [python, "-m", "pip", "install", "--quiet", "--requirement", LIST],
  ];
  for (const [name, ...args] of steps) {
    const { status } = spawnSync(name, args, { cwd: ROOT, stdio: "inherit" });
    if (status !== 0) return status ?? 1;
  }
  writeFileSync(STAMP, list);
  return 0;
}
