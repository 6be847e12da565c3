import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeDirectory } from "../../../engines/checkpoint/directory.ts";
import { watchDisk } from "../../watchDisk.ts";
import { scratchDirectory } from "../embedded/scratch.ts";

test("a save is on the disk before it has its name, and its name before it returns", () => {
  const folder = join(scratchDirectory(), "artifacts");
  const seen: string[] = [];
  watchDisk(seen);
  const parts = [new Uint8Array(2), new Uint8Array(3).fill(7)];
  const files = { "a.json": "{}", "b.bin": new Uint8Array(4), "c.safetensors": parts };
  writeDirectory(join(folder, "step-1"), files);
  // Node syncs a file by a function of its own, or by this one.
  expect(seen.filter((call) => !/^sync [ab]\./.test(call))).toEqual([
    "write a.json and sync",
    "write b.bin and sync",
    "sync c.safetensors",
    "sync .step-1.partial",
    "rename .step-1.partial to step-1",
    "sync artifacts",
  ]);
  expect([...readFileSync(join(folder, "step-1", "c.safetensors"))]).toEqual([0, 0, 7, 7, 7]);
});
