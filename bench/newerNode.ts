import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { availableSimd } from "../engines/embedded/kernels/simd.ts";
import { ROOT } from "./paths.ts";

/** A version with relaxed SIMD. */
const NEWEST = "24.21.0";
/** The oldest supported version, without relaxed SIMD, and one with the wide tile. */
const MAJORS = { 20: "20.20.2", 24: NEWEST };
export type Major = keyof typeof MAJORS;

/** Path of a Node with relaxed SIMD: this one, or one from npm's `node` package. */
export function newerNode(): string {
  return availableSimd() === "relaxed" ? process.execPath : nodeOf(NEWEST);
}

/** Path of a Node of a major version: this one, or one from npm's `node` package. */
export function nodeOfMajor(major: Major): string {
  const isThis = process.versions.node.startsWith(`${major}.`);
  return isThis ? process.execPath : nodeOf(MAJORS[major]);
}

/** Path of a Node of this version, from npm's `node` package. */
function nodeOf(version: string): string {
  const folder = join(ROOT, "node_modules", ".cache", "kit", `node-${version}`);
  const program = join(folder, "node_modules", "node", "bin", "node");
  if (existsSync(program)) return program;
  const args = ["install", "--prefix", folder, "--no-audit", "--no-fund", `node@${version}`];
  spawnSync("npm", args, { stdio: ["ignore", "ignore", "inherit"] });
  if (!existsSync(program)) throw new Error(`node@${version} could not be installed.`);
  return program;
}
