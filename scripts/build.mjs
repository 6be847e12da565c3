// `npm run build`: builds `dist/`, or parts of it. Scripts and tests build only stale parts.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { ROOT, STAMPS, digest, listFiles } from "./files.mjs";

const PAGE = join("dist", "page");
const KERNELS = join("engines", "embedded", "kernels");
const KERNEL_TYPES = join("dist", KERNELS, "plain.d.ts");
const isKernel = (file) => file.endsWith(".wasm") || file === KERNEL_TYPES;

/** Each part's sources, build commands, folder and files. */
const PARTS = {
  kernels: {
    sources: [join(KERNELS, "assembly"), "scripts/kernels.mjs", "package-lock.json"],
    commands: (outDir) => [[join("scripts", "kernels.mjs"), outDir]],
    folder: join("dist", KERNELS),
    owns: isKernel,
  },
  node: {
    sources: [
      "protocol",
      "disk",
      "jobs",
      "engines",
      "sdk",
      "server",
      "cli",
      "tsconfig.json",
      "tsconfig.build.json",
      "scripts/bundle.mjs",
      "package-lock.json",
    ],
    commands: (outDir) => [
      [modulePath("typescript-native/bin/tsc"), "-p", "tsconfig.build.json", "--outDir", outDir],
      [join("scripts", "bundle.mjs"), outDir],
      [join("scripts", "pythonFiles.mjs"), outDir],
    ],
    folder: "dist",
    owns: (file) => !file.startsWith(PAGE) && !isKernel(file),
  },
  page: {
    sources: ["protocol", "src", "index.html", "vite.config.ts", "package-lock.json"],
    commands: (outDir) => [
      [modulePath("vite/bin/vite.js"), "build", "--logLevel", "warn", "--outDir", outDir],
    ],
    folder: PAGE,
    owns: () => true,
  },
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const names = process.argv.slice(2);
  await buildParts(names.length > 0 ? names : Object.keys(PARTS));
}

/**
 * Builds each part whose sources or files have changed.
 * @throws when a build fails
 */
export async function buildStale() {
  const stale = Object.keys(PARTS).filter((name) => {
    const stamp = stampOf(name);
    return !existsSync(stamp) || readFileSync(stamp, "utf8") !== state(name);
  });
  if (stale.length === 0) return;
  console.log(`kit: building dist/ (${stale.join(", ")}) …`);
  await buildParts(stale);
}

async function buildParts(names) {
  const lacksTypes = names.includes("node") && !existsSync(join(ROOT, KERNEL_TYPES));
  const kernels = lacksTypes || names.includes("kernels") ? build("kernels") : undefined;
  const others = names.filter((name) => name !== "kernels");
  await Promise.all([
    kernels,
    ...others.map(async (name) => {
      // The Node part is compiled against the kernels' types.
      if (name === "node") await kernels;
      await build(name);
    }),
  ]);
}

async function build(name) {
  const { sources, commands } = PARTS[name];
  const outDir = join(STAMPS, `${name}-${process.pid}`);
  const sourceDigest = digest(sources);
  rmSync(stampOf(name), { force: true });
  try {
    // With vitest's NODE_ENV, "test", Vite would bundle Vue's development version.
    const env = { ...process.env, NODE_ENV: "production" };
    for (const words of commands(outDir)) {
      const child = spawn(process.execPath, words, { cwd: ROOT, env, stdio: "inherit" });
      const [code] = await once(child, "close");
      if (code !== 0) {
        throw new Error("The build failed, see above. Fix the error and run the command again.");
      }
    }
    replace(name, outDir);
  } finally {
    rmSync(outDir, { recursive: true, force: true });
  }
  // Stamp the sources as read before the build: they may have changed meanwhile.
  writeFileSync(stampOf(name), state(name, sourceDigest));
}

function modulePath(path) {
  return join(ROOT, "node_modules", path);
}

/** Replaces each file by rename, so that a process running from `dist/` always finds it. */
function replace(name, outDir) {
  const { folder } = PARTS[name];
  const paths = listFiles(relative(ROOT, outDir)).map((file) => {
    const path = join(folder, relative(outDir, join(ROOT, file)));
    mkdirSync(dirname(join(ROOT, path)), { recursive: true });
    renameSync(join(ROOT, file), join(ROOT, path));
    return path;
  });
  // Outputs of removed modules.
  const stale = filesOf(name).filter((file) => !paths.includes(file));
  for (const file of stale) rmSync(join(ROOT, file));
}

function filesOf(name) {
  const { folder, owns } = PARTS[name];
  return existsSync(join(ROOT, folder)) ? listFiles(folder).filter(owns) : [];
}

function state(name, sourceDigest = digest(PARTS[name].sources)) {
  return `${sourceDigest} ${digest(filesOf(name))}`;
}

function stampOf(name) {
  return join(STAMPS, `build-${name}`);
}
