// `npm run llama`: installs llama.cpp into `.llama/`, on Linux x64 only: node-llama-cpp by its lock file, for the tests
// of GGUF files; for the benchmark, a copy with at most AVX2, and the real weights as GGUF files.
// `node scripts/llama.mjs packages`: without the benchmark's files, which need a build and `.real-weights/`.
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
import { buildStale } from "./build.mjs";
import { ROOT, digest } from "./files.mjs";
import { problemsOf } from "./lock.mjs";
import { REAL_WEIGHTS } from "./realWeights.mjs";
import { CLI } from "./setup.mjs";

const LOCK_FOLDER = join("bench", "llama");
const LLAMA = join(ROOT, ".llama");
const PARTIAL = `${LLAMA}.partial`;
const STAMP = "kit-digest.txt";
/** llama.cpp's kernels newer than AVX2. It picks the newest that the processor supports. */
const KERNELS = /^libggml-cpu-(?!haswell\.so$)/;
const TYPES = ["bf16", "q8_0", "q4_0"];

const problem = problemHere();
if (problem) console.error(`kit: ${problem}`);
const isMade = !problem && make() && (process.argv[2] === "packages" || (await makeFiles()));
process.exitCode = isMade ? 0 : 1;

function problemHere() {
  if (process.platform !== "linux" || process.arch !== "x64") {
    return "llama.cpp is tested and measured only on Linux x64.";
  }
  return problemsOf(readManifest("package-lock.json"), readManifest("package.json"))[0];
}

/** Installs llama.cpp once. @returns whether it is installed */
function make() {
  const stamp = digest([LOCK_FOLDER]);
  const stampFile = join(LLAMA, STAMP);
  if (existsSync(stampFile) && readFileSync(stampFile, "utf8") === stamp) return true;
  rmSync(PARTIAL, { recursive: true, force: true });
  try {
    if (!install()) return false;
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
    cpSync(join(ROOT, LOCK_FOLDER, name), join(picked, name));
  }
  // Skips builds for other systems and GPUs, 650 MB of optional dependencies. `npm ci` would need them in the
  // lock.
  const options = ["--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund"];
  return run(picked, "npm", "install", ...options);
}

/** Creates each file once. */
async function makeFiles() {
  if (!existsSync(REAL_WEIGHTS)) {
    console.error("kit: The benchmark's files are made from .real-weights/. Run: npm run python");
    return false;
  }
  const filter = (path) => !KERNELS.test(basename(path));
  cpSync(join(LLAMA, "picked"), join(LLAMA, "avx2"), { recursive: true, filter });
  await buildStale();
  return TYPES.every(makeFile);
}

function makeFile(type) {
  const [folder, name] = [join(LLAMA, type), type.toUpperCase()];
  const path = join(LLAMA, `${name}.gguf`);
  if (existsSync(path)) return true;
  rmSync(folder, { recursive: true, force: true });
  const words = ["export", REAL_WEIGHTS, folder, "--format", "gguf", "--type", type];
  if (!run(ROOT, process.execPath, CLI, ...words)) return false;
  renameSync(join(folder, `${basename(REAL_WEIGHTS)}.gguf`), path);
  rmSync(folder, { recursive: true });
  return true;
}

function readManifest(name) {
  return JSON.parse(readFileSync(join(ROOT, LOCK_FOLDER, name), "utf8"));
}

function run(cwd, name, ...args) {
  return spawnSync(name, args, { cwd, stdio: "inherit" }).status === 0;
}
