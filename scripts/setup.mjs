// Brings a clone to where Kit runs: dependencies, build, quickstart. What is up to date is left alone.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildStale } from "./build.mjs";
import { ROOT, STAMPS, digest } from "./files.mjs";

export { ROOT } from "./files.mjs";

const LEAST_NODE = [20, 19];

export const CLI = join(ROOT, "dist", "cli", "kit.js");

/** Runs a command in the clone's folder; its output goes to the terminal. Returns its exit code. */
export function run(...command) {
  const [program, ...args] = resolveNpm(command);
  return spawnSync(program, args, { cwd: ROOT, stdio: "inherit" }).status ?? 1;
}

/** The same while something else goes on. Resolves with the exit code and what it printed. */
export function runAside(...command) {
  const [program, ...args] = resolveNpm(command);
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => (output += text));
    }
    child.once("error", (error) => resolve({ code: 1, output: `${error.message}\n` }));
    child.once("close", (code) => resolve({ code: code ?? 1, output }));
  });
}

/** Runs tests. Returns the exit code. */
export function runVitest(...args) {
  return run(process.execPath, join("node_modules", "vitest", "vitest.mjs"), "run", ...args);
}

/** The npm that called this script, which need not be on the PATH. */
function resolveNpm([program, ...args]) {
  if (program !== "npm" || !process.env.npm_execpath) return [program, ...args];
  return [process.execPath, process.env.npm_execpath, ...args];
}

function need(what, exitCode) {
  if (exitCode === 0) return;
  console.error(`kit: ${what} failed, see above. Mend it and run the command again.`);
  process.exit(1);
}

/** Dependencies and build. */
export function setUp() {
  checkNode();
  installDependencies();
  try {
    buildStale();
  } catch (error) {
    console.error(`kit: ${error.message}`);
    process.exit(1);
  }
}

/** A project to try Kit on, made by `kit init`. Returns its folder. */
export function makeQuickstart() {
  const project = join(ROOT, "quickstart");
  // Written last, so that a copy that was interrupted is completed.
  if (existsSync(join(project, "package.json"))) return project;
  const { status } = spawnSync(process.execPath, [CLI, "init", project], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  need("kit init", status ?? 1);
  return project;
}

function checkNode() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  const isOld = major < LEAST_NODE[0] || (major === LEAST_NODE[0] && minor < LEAST_NODE[1]);
  if (!isOld) return;
  console.error(`kit: Node ${process.versions.node} is too old; install ${LEAST_NODE.join(".")}+.`);
  process.exit(1);
}

/** Unless they are there and come from the same lock file. */
function installDependencies() {
  const stamp = join(STAMPS, "dependencies");
  const wanted = digest(["package-lock.json"]);
  const isDone = existsSync(stamp) && readFileSync(stamp, "utf8") === wanted;
  if (isDone) return;
  console.log("kit: setting up the dependencies …");
  need("npm ci", run("npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"));
  mkdirSync(STAMPS, { recursive: true });
  writeFileSync(stamp, wanted);
}
