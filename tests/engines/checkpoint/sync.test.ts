import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { basename, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { writeDirectory } from "../../../engines/checkpoint/directory.ts";
import { scratchDirectory } from "../embedded/scratch.ts";

/** Hands the calls that matter to `seen`, until the test ends. */
function watchDisk(seen: string[]) {
  const { openSync, writeFileSync, fsyncSync, renameSync } = fs;
  const names = new Map<number, string>();
  Object.assign(fs, {
    openSync: (...input: Parameters<typeof openSync>) => {
      const file = openSync(...input);
      names.set(file, basename(String(input[0])));
      return file;
    },
    writeFileSync: (...input: Parameters<typeof writeFileSync>) => {
      const options = input[2] as { flush?: boolean };
      seen.push(`write ${basename(String(input[0]))}${options.flush ? " and sync" : ""}`);
      writeFileSync(...input);
    },
    fsyncSync: (file: number) => {
      seen.push(`sync ${names.get(file)}`);
      fsyncSync(file);
    },
    renameSync: (...input: Parameters<typeof renameSync>) => {
      seen.push(`rename ${basename(String(input[0]))} to ${basename(String(input[1]))}`);
      renameSync(...input);
    },
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    Object.assign(fs, { openSync, writeFileSync, fsyncSync, renameSync });
    syncBuiltinESMExports();
  });
}

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
