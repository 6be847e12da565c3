import { chmodSync } from "node:fs";
import { expect, it, onTestFinished, vi } from "vitest";
import { assertGpu } from "../../bench/gpu.ts";
import { scratchFile } from "../engines/embedded/scratch.ts";

/** Of a program that stands where an interpreter does. */
function missingFor(script: string): string | undefined {
  const path = scratchFile("python", `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return missingAt(path);
}

function missingAt(path: string): string | undefined {
  vi.stubEnv("KIT_PYTHON", path);
  onTestFinished(() => void vi.unstubAllEnvs());
  try {
    assertGpu();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

it("the bench on a GPU says in a sentence what is missing", () => {
  expect(missingAt("/nowhere/python")).toMatch(/^There is no Python at \/nowhere\/python\. Run /);
  expect(missingFor("exit 1")).toMatch(/has no PyTorch\. Run npm run python\.$/);
  expect(missingFor("echo cpu")).toMatch(/sees neither a CUDA nor an Apple GPU, and --gpu meas/);
  expect(["cuda", "mps"].map((name) => missingFor(`echo ${name}`))).toEqual([undefined, undefined]);
});
