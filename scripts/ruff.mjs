// `npm run lint:python`: checks format and lint of the Python files, with the environment of `npm run python`.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ENVIRONMENTS } from "./pythonEnvironment.mjs";
import { run } from "./setup.mjs";

const ruff = join(ENVIRONMENTS.python.folder, "bin", "ruff");
if (existsSync(ruff)) {
  const codes = [run(ruff, "check", "--quiet"), run(ruff, "format", "--check", "--quiet")];
  process.exitCode = Math.max(...codes);
} else {
  console.log(
    "kit: there is no ruff, so the Python files are not checked. Install it with: npm run python",
  );
}
