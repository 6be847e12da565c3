// `npm run build`: builds `dist/` or a part of it. Scripts and tests only build stale parts.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { ROOT, STAMPS, digest, listFiles } from "./files.mjs";

const PAGE = join("dist", "page");

/** For each part: its sources, the programs that build it, its folder and its files. */
const PARTS = {
  node: {
    sources: [
      ...["protocol", "disk", "jobs", "engines", "sdk", "server", "cli"],
      ...["tsconfig.json", "tsconfig.build.json", "package-lock.json"],
    ],
    commands: (outDir) => [
      [modulePath("typescript-native/bin/tsc"), "-p", "tsconfig.build.json", "--outDir", outDir],
      [join("scripts", "kernels.mjs"), outDir],
      [join("scripts", "pythonFiles.mjs"), outDir],
    ],
    folder: "dist",
    has: (file) => !file.startsWith(PAGE),
  },
  page: {
    sources: ["protocol", "src", "index.html", "vite.config.ts", "package-lock.json"],
    commands: (outDir) => [
      [modulePath("vite/bin/vite.js"), "build", "--logLevel", "warn", "--outDir", outDir],
    ],
    folder: PAGE,
    has: () => true,
  },
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const names = process.argv.slice(2);
  for (const name of names.length > 0 ? names : Object.keys(PARTS)) build(name);
}

/**
 * Builds each part that differs from its sources.
 * @throws when a build fails
 */
export function buildStale() {
  for (const name of Object.keys(PARTS)) {
    const stamp = stampOf(name);
    if (existsSync(stamp) && readFileSync(stamp, "utf8") === state(name)) continue;
    console.log(`kit: building dist/ (${name}) …`);
    build(name);
  }
}

function build(name) {
  const { sources, commands } = PARTS[name];
  const built = join(STAMPS, `${name}-${process.pid}`);
  const madeFrom = digest(sources);
  rmSync(stampOf(name), { force: true });
  try {
    // Under vitest, NODE_ENV is "test", for which Vite would build Vue's development version.
    const env = { ...process.env, NODE_ENV: "production" };
    for (const words of commands(built)) {
      const { status } = spawnSync(process.execPath, words, { cwd: ROOT, env, stdio: "inherit" });
      if (status !== 0) {
        throw new Error("The build failed, see above. Fix the error and run the command again.");
      }
    }
    replace(name, built);
  } finally {
    rmSync(built, { recursive: true, force: true });
  }
  // Stamp the sources as read: they may have changed meanwhile.
  writeFileSync(stampOf(name), state(name, madeFrom));
}

function modulePath(path) {
  return join(ROOT, "node_modules", path);
}

/** Replaces file by file, so that a process running from `dist/` always finds each one. */
function replace(name, built) {
  const { folder } = PARTS[name];
  const paths = listFiles(relative(ROOT, built)).map((file) => {
    const path = join(folder, relative(built, join(ROOT, file)));
    mkdirSync(dirname(join(ROOT, path)), { recursive: true });
    renameSync(join(ROOT, file), join(ROOT, path));
    return path;
  });
  // Outputs of modules that are gone.
  const left = filesOf(name).filter((file) => !paths.includes(file));
  for (const file of left) rmSync(join(ROOT, file));
}

function filesOf(name) {
  const { folder, has } = PARTS[name];
  return existsSync(join(ROOT, folder)) ? listFiles(folder).filter(has) : [];
}

function state(name, madeFrom = digest(PARTS[name].sources)) {
  return `${madeFrom} ${digest(filesOf(name))}`;
}

function stampOf(name) {
  return join(STAMPS, `build-${name}`);
}
