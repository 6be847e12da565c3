import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { ROOT } from "./paths.ts";

const WHICH = `import peft, torch, transformers
print("cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu")`;

/** The interpreter that the bench uses. */
export function benchPython(): string {
  return process.env["KIT_PYTHON"] ?? join(ROOT, ".python", "bin", "python");
}

/** PyTorch's name of this machine's GPU. @throws Error that says what is missing to measure on it */
export function torchDevice(): "cuda" | "mps" {
  const python = benchPython();
  const { error, stdout, stderr } = spawnSync(python, ["-c", WHICH], { encoding: "utf8" });
  if (error)
    throw new Error(`There is no Python at ${python}. Run npm run python, or set KIT_PYTHON.`);
  const device = stdout.trim();
  if (device === "cuda" || device === "mps") return device;
  const problem =
    device === "cpu"
      ? "its PyTorch sees neither a CUDA nor an Apple GPU. Check the driver with nvidia-smi."
      : `${stderr.trim().split("\n").at(-1)}. Run npm run python.`;
  throw new Error(`${python}: ${problem}`);
}
