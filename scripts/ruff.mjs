// `npm run lint:python`: checks format and lint of the Python files, with the environment of `npm run python`.
import { existsSync } from "node:fs";
import { ENVIRONMENTS } from "./pythonEnvironment.mjs";
import { run } from "./setup.mjs";

const ruff = ENVIRONMENTS.python.program("ruff");
if (existsSync(ruff)) {
  const codes = [run(ruff, "check", "--quiet"), run(ruff, "format", "--check", "--quiet")];
  process.exitCode = Math.max(...codes);
} else {
  console.log(
    "kit: there is no ruff, so the Python files are not checked. Install it with: npm run python",
  );
}
