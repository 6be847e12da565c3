// Brings a clone to where Kit runs: dependencies, build, quickstart. What is up to date is left alone.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const LEAST_NODE = [20, 19];

const SOURCES = [
  ...["protocol", "disk", "jobs", "engines", "sdk", "server", "cli", "src"],
  ...["index.html", "vite.config.ts", "tsconfig.json", "tsconfig.build.json", "package-lock.json"],
];

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

export const CLI = join(ROOT, "dist", "cli", "kit.js");

/** Runs a command in the clone's folder; its output goes to the terminal. Returns its exit code. */
export function run(program, ...args) {
  const isNpm = program === "npm";
  const { status } = spawnSync(isNpm ? npmProgram() : program, isNpm ? npmArgs(args) : args, {
    cwd: ROOT,
    stdio: "inherit",
  });
  return status ?? 1;
}

/** Runs tests. Returns the exit code. */
export function runVitest(...args) {
  return run(process.execPath, join("node_modules", "vitest", "vitest.mjs"), "run", ...args);
}

/** The npm that called this script, which need not be on the PATH. */
function npmProgram() {
  return process.env.npm_execpath ? process.execPath : "npm";
}

function npmArgs(args) {
  return process.env.npm_execpath ? [process.env.npm_execpath, ...args] : args;
}

function need(what, exitCode) {
  if (exitCode === 0) return;
  console.error(`kit: ${what} failed, see above. Mend it and run the command again.`);
  process.exit(1);
}

/** Dependencies and build. */
export function setUp() {
  checkNode();
  unlessDone("dependencies", "node_modules", ["package-lock.json"], () => {
    need("npm ci", run("npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"));
  });
  unlessDone("build", "dist", SOURCES, () => {
    rmSync(join(ROOT, "dist"), { recursive: true, force: true });
    need("the build", run("npm", "run", "--silent", "build"));
  });
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

/** Does a step unless its result is there and was made from the same files. */
function unlessDone(step, result, sources, work) {
  const stamp = join(ROOT, "node_modules", ".cache", "kit", step);
  const wanted = digest(sources);
  const isDone = existsSync(join(ROOT, result)) && existsSync(stamp);
  if (isDone && readFileSync(stamp, "utf8") === wanted) return;
  console.log(`kit: setting up the ${step} …`);
  work();
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, wanted);
}

function digest(sources) {
  const hash = createHash("sha256");
  for (const path of sources.flatMap(listFiles)) {
    hash
      .update(path)
      .update("\0")
      .update(readFileSync(join(ROOT, path)))
      .update("\0");
  }
  return hash.digest("hex");
}

function listFiles(path) {
  const found = readdirOrNull(join(ROOT, path));
  return found ? found.sort().flatMap((name) => listFiles(join(path, name))) : [path];
}

function readdirOrNull(path) {
  try {
    return readdirSync(path);
  } catch {
    // A file.
    return null;
  }
}
