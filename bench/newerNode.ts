import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { availableSimd } from "../engines/embedded/kernels/simd.ts";
import { ROOT } from "./places.ts";

const VERSION = "24.21.0";
const FOLDER = join(ROOT, "node_modules", ".cache", "kit", `node-${VERSION}`);

/** A Node with relaxed SIMD: this one, or else one of npm's `node` package. */
export function newerNode(): string {
  if (availableSimd() === "relaxed") return process.execPath;
  const program = join(FOLDER, "node_modules", "node", "bin", "node");
  if (existsSync(program)) return program;
  const args = ["install", "--prefix", FOLDER, "--no-audit", "--no-fund", `node@${VERSION}`];
  spawnSync("npm", args, { stdio: ["ignore", "ignore", "inherit"] });
  if (!existsSync(program)) throw new Error(`node@${VERSION} could not be installed.`);
  return program;
}
