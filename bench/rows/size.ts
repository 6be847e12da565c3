import { execFile } from "node:child_process";
import { lstatSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliCompressSync } from "node:zlib";
import { atMost } from "../goals.ts";
import { ROOT } from "../places.ts";
import type { Row } from "../row.ts";

const KILO = 1e3;
const MEGA = 1e6;
const NPM = process.env.npm_execpath ? [process.execPath, process.env.npm_execpath] : ["npm"];

/** As in a terminal: `npm run` tells what it runs of its own folder. */
const ENV = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^npm_/.test(name) || /^npm_config_(cache|registry)$/.test(name),
  ),
);

export const pageSize: Row = {
  number: 14,
  work: "page's JavaScript and CSS, brotli",
  measure() {
    const assets = join(ROOT, "dist", "page", "assets");
    const files = readdirSync(assets).filter((name) => /\.(js|css)$/.test(name));
    const bytes = files.map((name) => brotliCompressSync(readFileSync(join(assets, name))).length);
    const kilobytes = bytes.reduce((sum, length) => sum + length, 0) / KILO;
    return Promise.resolve([{ ours: kilobytes, unit: "kB", goal: atMost(46) }]);
  },
};

export const installSize: Row = {
  number: 15,
  work: "production install of the packed package",
  async measure({ folder }) {
    const project = folder();
    writeFileSync(join(project, "package.json"), '{"private":true}\n');
    const pack = ["pack", "--ignore-scripts", "--json", "--pack-destination", project];
    const [packed] = JSON.parse(await npm(ROOT, ...pack)) as { filename: string }[];
    const options = ["--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"];
    await npm(project, "install", "--prefer-offline", ...options, `./${packed?.filename}`);
    const modules = join(project, "node_modules");
    const lock = readFileSync(join(modules, ".package-lock.json"), "utf8");
    const { packages } = JSON.parse(lock) as { packages: Record<string, Package> };
    const scripts = Object.values(packages).filter(({ hasInstallScript }) => hasInstallScript);
    return [
      { part: "size", ours: sizeOf(modules) / MEGA, unit: "MB", goal: atMost(18) },
      { part: "packages", ours: Object.keys(packages).length, unit: "", goal: atMost(22) },
      { part: "packages with an install script", ours: scripts.length, unit: "" },
    ];
  },
};

interface Package {
  hasInstallScript?: boolean;
}

/** Runs npm; returns what it prints. */
async function npm(cwd: string, ...args: string[]): Promise<string> {
  const [program = "", ...first] = NPM;
  const { stdout } = await promisify(execFile)(program, [...first, ...args], { cwd, env: ENV });
  return stdout;
}

/** Total size of all files below a folder, in bytes. */
function sizeOf(path: string): number {
  const stats = lstatSync(path);
  if (!stats.isDirectory()) return stats.size;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}
