import { join } from "node:path";
import { expect, test } from "vitest";
import { writeDirectory } from "../../../engines/checkpoint/directory.ts";
import { watchDisk } from "../../watchDisk.ts";
import { scratchDirectory } from "../embedded/scratch.ts";

test("a save is on the disk before it has its name, and its name before it returns", () => {
  const folder = join(scratchDirectory(), "artifacts");
  const seen: string[] = [];
  watchDisk(seen);
  writeDirectory(join(folder, "step-1"), { "a.json": "{}", "b.safetensors": new Uint8Array(4) });
  // Node syncs a file by a function of its own, or by this one.
  expect(seen.filter((call) => !/^sync [ab]\./.test(call))).toEqual([
    "write a.json and sync",
    "write b.safetensors and sync",
    "sync .step-1.partial",
    "rename .step-1.partial to step-1",
    "sync artifacts",
  ]);
});
