import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./paths.ts";

const WHICH =
  "import torch; print('cuda' if torch.cuda.is_available() else 'mps' if torch.backends.mps.is_available() else 'cpu')";

/** The interpreter that the bench uses. */
export function benchPython(): string {
  return process.env["KIT_PYTHON"] ?? join(ROOT, ".python", "bin", "python");
}

/** @throws Error that says what is missing to measure on a GPU */
export function assertGpu(): void {
  const python = benchPython();
  if (!existsSync(python)) {
    throw new Error(`There is no Python at ${python}. Run npm run python, or set KIT_PYTHON.`);
  }
  const { stdout, status } = spawnSync(python, ["-c", WHICH], { encoding: "utf8" });
  if (status !== 0) throw new Error(`${python} has no PyTorch. Run npm run python.`);
  if (stdout.trim() !== "cpu") return;
  throw new Error(
    `PyTorch of ${python} sees neither a CUDA nor an Apple GPU, and --gpu measures on one. Check the driver with nvidia-smi.`,
  );
}
