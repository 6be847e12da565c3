import { join, resolve } from "node:path";

/** `scripts/runBench.mjs` starts the bench in the repository's folder. */
export const ROOT = resolve(".");

/** The command as it is built. */
export const CLI = join(ROOT, "dist", "cli", "kit.js");

/** The real SmolLM2-135M, where `npm run python` has made it. */
export const REAL_WEIGHTS = join(ROOT, ".real-weights");

/** A file of `bench/programs/`, as JavaScript that `node` runs. */
export function program(name: string): string {
  return join(import.meta.dirname, "programs", `${name}.js`);
}
