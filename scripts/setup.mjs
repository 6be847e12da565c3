// Sets up a clone: dependencies, build, quickstart. Skips parts that are up to date.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { setPriority } from "node:os";
import { join } from "node:path";
import { buildStale } from "./build.mjs";
import { ROOT, STAMPS, digest } from "./files.mjs";
import { lockProblems } from "./lock.mjs";

export { ROOT } from "./files.mjs";

const MIN_NODE = [20, 19];

export const CLI = join(ROOT, "dist", "cli", "kit.js");

/** Runs a command in the clone's folder; its output goes to the terminal. Returns its exit code. */
export function run(...command) {
  const [program, ...args] = resolveNpm(command);
  return spawnSync(program, args, { cwd: ROOT, stdio: "inherit" }).status ?? 1;
}

/** Runs a command in the background. Resolves with its exit code and output. */
export function runInBackground(command, niceness = 0) {
  const [program, ...args] = resolveNpm(command);
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
    if (child.pid && niceness > 0) setPriority(child.pid, niceness);
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => (output += text));
    }
    child.once("error", (error) => resolve({ code: 1, output: `${error.message}\n` }));
    child.once("close", (code) => resolve({ code: code ?? 1, output }));
  });
}

/** Runs tests; their output goes to the terminal. Resolves with the exit code. */
export function runVitest(...args) {
  const vitest = join("node_modules", "vitest", "vitest.mjs");
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [vitest, "run", ...args], {
      cwd: ROOT,
      stdio: "inherit",
    });
    child.once("close", (code) => resolve(code ?? 1));
  });
}

/** Uses the npm that called this script, which may not be on the PATH. */
function resolveNpm([program, ...args]) {
  if (program !== "npm" || !process.env.npm_execpath) return [program, ...args];
  return [process.execPath, process.env.npm_execpath, ...args];
}

function exitOnFailure(step, exitCode) {
  if (exitCode === 0) return;
  console.error(`kit: ${step} failed, see above. Fix the error and run the command again.`);
  process.exit(1);
}

/** Installs the dependencies and builds. */
export async function setUp() {
  checkNode();
  installDependencies();
  try {
    await buildStale();
  } catch (error) {
    console.error(`kit: ${error.message}`);
    process.exit(1);
  }
}

/** Creates a project with `kit init` and installs it. Returns its folder. */
export function makeQuickstart() {
  const project = join(ROOT, "quickstart");
  // `kit init` writes package.json last, so a missing one means an interrupted copy.
  if (!existsSync(join(project, "package.json"))) {
    const { status } = spawnSync(process.execPath, [CLI, "init", project], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    exitOnFailure("kit init", status ?? 1);
  }
  installQuickstart(project);
  return project;
}

/** For `npx kit` there and for types in an editor; the page needs neither. */
function installQuickstart(project) {
  // npm links commands last.
  if (existsSync(join(project, "node_modules", ".bin", "kit"))) return;
  console.log("kit: installing quickstart/ …");
  const words = ["install", "--prefix", project, "--no-audit", "--no-fund", "--loglevel=error"];
  // `npm ci` has cached the same packages; don't wait for retries without a network.
  if (run("npm", ...words, "--prefer-offline", "--fetch-retries=0") === 0) return;
  console.error("kit: npm install in quickstart/ failed, see above. Run it there for npx kit.");
}

function checkNode() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  const isOld = major < MIN_NODE[0] || (major === MIN_NODE[0] && minor < MIN_NODE[1]);
  if (!isOld) return;
  console.error(
    `kit: Node ${process.versions.node} is too old. Install ${MIN_NODE.join(".")} or later.`,
  );
  process.exit(1);
}

/** Installs the dependencies, unless they are from the same lock file. */
function installDependencies() {
  const stamp = join(STAMPS, "dependencies");
  const lockDigest = digest(["package-lock.json"]);
  const isDone = existsSync(stamp) && readFileSync(stamp, "utf8") === lockDigest;
  if (isDone) return;
  const problems = lockProblems();
  if (problems.length > 0) {
    console.error(
      `kit: package-lock.json has entries that are not allowed:\n${problems.join("\n")}\nRestore it from git, or change scripts/lock.mjs if this is intended.`,
    );
    process.exit(1);
  }
  console.log("kit: setting up the dependencies …");
  // No package needs its install script.
  const quietly = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  exitOnFailure("npm ci", run("npm", "ci", ...quietly));
  mkdirSync(STAMPS, { recursive: true });
  writeFileSync(stamp, lockDigest);
}
