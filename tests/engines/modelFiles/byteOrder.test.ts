import os from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { openCheckpoint, saveModel } from "../../../engines/checkpoint/checkpoint.ts";
import { prepare } from "../../../engines/embedded/prepare.ts";
import { exportModel } from "../../../engines/export/exportModel.ts";
import { scratchDirectory } from "../embedded/scratch.ts";
import { TINY, tinyWeights } from "../embedded/tiny.ts";

test("on a big-endian machine nothing is trained, read or written, in one clear sentence", async () => {
  const path = join(scratchDirectory(), "model");
  const notes = { shape: TINY, promptStyle: "message" } as const;
  saveModel(path, tinyWeights(), notes);
  vi.spyOn(os, "endianness").mockReturnValue("BE");
  onTestFinished(() => void vi.restoreAllMocks());
  const refusal = expect.objectContaining({
    code: "MACHINE_UNFIT",
    message: `This machine (${process.platform}-${process.arch}) is big-endian, but Kit needs a little-endian one. Use another machine, such as one with an x64 or arm64 processor.`,
  });
  expect(() => prepare({ model: "kit/nano" } as never)).toThrow(refusal);
  expect(() => openCheckpoint(path)).toThrow(refusal);
  expect(() => saveModel(`${path}-2`, tinyWeights(), notes)).toThrow(refusal);
  await expect(exportModel(path, `${path}-3`, { format: "gguf" })).rejects.toEqual(refusal);
});
