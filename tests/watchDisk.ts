import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { basename } from "node:path";
import { onTestFinished } from "vitest";

/** Hands the calls that matter to `seen`, until the test ends. */
export function watchDisk(seen: string[]) {
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
