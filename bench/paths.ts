import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

/** The repository's folder, where `scripts/runBench.mjs` starts the bench. */
export const ROOT = resolve(".");

/** The built command. */
export const CLI = join(ROOT, "dist", "cli", "kit.js");

/** The real SmolLM2-135M, if `npm run python` has made it. */
export const REAL_WEIGHTS = join(ROOT, ".real-weights");

/** Takes PyTorch's steps. */
export const STEP_SCRIPT = join(ROOT, "bench", "python", "step.py");

/** Imports a built module. @param path in `dist/` */
export async function built<T>(path: string): Promise<T> {
  return (await import(pathToFileURL(join(ROOT, "dist", path)).href)) as T;
}

/** Path of a compiled program of `bench/programs/`. */
export function program(name: string): string {
  return join(import.meta.dirname, "programs", `${name}.js`);
}
