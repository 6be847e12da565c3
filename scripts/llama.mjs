// `npm run llama`: llama.cpp for the benchmark, in `.llama/`, on Linux x64 alone: node-llama-cpp by its lock,
// a copy of it that has no newer instructions than AVX2, and the real weights as GGUF files.
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { ROOT, digest } from "./files.mjs";
import { problemsOf } from "./lock.mjs";
import { ENVIRONMENTS } from "./pythonEnvironment.mjs";
import { REAL_WEIGHTS } from "./realWeights.mjs";

const WANTED = join("bench", "llama");
const LLAMA = join(ROOT, ".llama");
const PARTIAL = `${LLAMA}.partial`;
const STAMP = "kit-digest.txt";
/** Its kernels for a processor; llama.cpp takes the newest that the processor has. */
const KERNELS = /^libggml-cpu-(?!haswell\.so$)/;
const PYTHON = join(ENVIRONMENTS.python.folder, "bin", "python");

const problem = problemHere();
if (problem) console.error(`kit: ${problem}`);
process.exitCode = problem || !make() ? 1 : 0;

function problemHere() {
  if (process.platform !== "linux" || process.arch !== "x64") {
    return "llama.cpp is measured on Linux x64 alone.";
  }
  if (!existsSync(PYTHON) || !existsSync(REAL_WEIGHTS)) {
    return "The GGUF files are made of .real-weights/ by .python/. Make both first: npm run python";
  }
  return problemsOf(readWanted("package-lock.json"), readWanted("package.json"))[0];
}

/** Once. @returns whether it is there */
function make() {
  const stamp = digest([WANTED]);
  const made = join(LLAMA, STAMP);
  if (existsSync(made) && readFileSync(made, "utf8") === stamp) return true;
  rmSync(PARTIAL, { recursive: true, force: true });
  try {
    if (!install() || !convert()) return false;
    writeFileSync(join(PARTIAL, STAMP), stamp);
    rmSync(LLAMA, { recursive: true, force: true });
    renameSync(PARTIAL, LLAMA);
    return true;
  } finally {
    rmSync(PARTIAL, { recursive: true, force: true });
  }
}

function install() {
  const picked = join(PARTIAL, "picked");
  mkdirSync(picked, { recursive: true });
  for (const name of ["package.json", "package-lock.json"]) {
    cpSync(join(ROOT, WANTED, name), join(picked, name));
  }
  // Builds for other systems and for GPUs are optional dependencies, 650 MB. `npm ci` would want all of them
  // in the lock.
  const options = ["--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund"];
  if (!run(picked, "npm", "install", ...options)) return false;
  const filter = (path) => !KERNELS.test(basename(path));
  cpSync(picked, join(PARTIAL, "avx2"), { recursive: true, filter });
  return true;
}

function convert() {
  const packages = join(PARTIAL, "python");
  const list = join(ROOT, WANTED, "requirements.txt");
  const install = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", packages];
  if (!run(ROOT, PYTHON, ...install, "--requirement", list)) return false;
  const program = join(ROOT, WANTED, "convert.py");
  return run(ROOT, PYTHON, "-B", program, packages, REAL_WEIGHTS, PARTIAL);
}

function readWanted(name) {
  return JSON.parse(readFileSync(join(ROOT, WANTED, name), "utf8"));
}

function run(cwd, name, ...args) {
  return spawnSync(name, args, { cwd, stdio: "inherit" }).status === 0;
}
