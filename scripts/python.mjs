// `npm run python`: creates a Python environment from pinned lists, for the Python engine's tests and the benchmark,
// and the real weights and chat templates that they use. `node scripts/python.mjs <name>`: creates one
// for the tests of the Ray engine (`ray`) or of TensorBoard, MLflow and W&B (`trackers`).
import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { makeChatTemplates } from "./chatTemplates.mjs";
import { ROOT } from "./files.mjs";
import { ENVIRONMENTS, isComplete } from "./pythonEnvironment.mjs";
import { makeRealWeights } from "./realWeights.mjs";

const PROGRAMS = [
  "python3",
  "python3.13",
  "python3.12",
  "python3.11",
  "python3.10",
  "python",
  "py",
];
const NEW_ENOUGH = "import sys; sys.exit(sys.version_info < (3, 10))";

const requested = ENVIRONMENTS[process.argv[2] ?? "python"];

process.exitCode = isComplete(requested) ? 0 : makeEnvironment(requested);
if (process.exitCode === 0 && requested === ENVIRONMENTS.python) {
  const python = (...words) => run(requested.program("python"), ...words);
  const folders = { ".real-weights/": makeRealWeights, ".chat-templates/": makeChatTemplates };
  for (const [folder, make] of Object.entries(folders)) {
    if (make(python)) continue;
    console.error(
      `kit: ${folder} could not be created, so tests that need it are skipped. To try again: npm run python`,
    );
  }
}

/** Creates or updates the environment. Returns the exit code. */
function makeEnvironment({ folder, lists, program, stamp, currentLists }) {
  const python = program("python");
  if (!existsSync(python)) {
    const found = PROGRAMS.find((name) => spawnSync(name, ["-c", NEW_ENOUGH]).status === 0);
    if (!found) {
      console.error(
        "kit: There is no Python 3.10 or newer here. Install one, with its venv module.",
      );
      return 1;
    }
    const exitCode = run(found, "-m", "venv", folder);
    if (exitCode !== 0) return exitCode;
  }
  const packages = lists.flatMap((list) => ["--requirement", list]);
  // Most modules are never imported; Python compiles the others when they are.
  const options = ["--quiet", "--no-compile"];
  const installed = run(python, "-m", "pip", "install", ...options, ...packages);
  if (installed === 0) writeFileSync(stamp, currentLists());
  return installed;
}

function run(name, ...args) {
  return spawnSync(name, args, { cwd: ROOT, stdio: "inherit" }).status ?? 1;
}
