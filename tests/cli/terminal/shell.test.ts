import { posix, win32 } from "node:path";
import { expect, test } from "vitest";
import { shellWord } from "../../../cli/terminal/shell.ts";
import { pathInside } from "../../../jobs/paths.ts";
import { simulatePlatform } from "../../windows.ts";

test.each([
  ["linux", "data/train.jsonl", "data/train.jsonl"],
  ["linux", "it's mine", String.raw`'it'\''s mine'`],
  ["linux", String.raw`a\b`, String.raw`'a\b'`],
  ["win32", String.raw`C:\models\tickets`, String.raw`C:\models\tickets`],
  ["win32", String.raw`C:\My models`, String.raw`"C:\My models"`],
  ["win32", 'say "hi"', String.raw`"say \"hi\""`],
] as const)("on %s, a shell takes %s as %s", (platform, word, quoted) => {
  simulatePlatform(platform);
  expect(shellWord(word)).toBe(quoted);
});

test.each([
  [win32, String.raw`C:\kit`, String.raw`c:\Kit\src\a.ts`, String.raw`src\a.ts`],
  [win32, String.raw`C:\kit`, String.raw`D:\kit\a.ts`, undefined],
  [win32, String.raw`C:\kit`, String.raw`\\server\share\a.ts`, undefined],
  [win32, String.raw`\\server\share\kit`, String.raw`\\server\share\kit\a.ts`, "a.ts"],
  [win32, String.raw`C:\kit`, String.raw`C:\kit2\a.ts`, undefined],
  [posix, "/kit", "/kit/..data/a.ts", "..data/a.ts"],
  [posix, "/kit", "/", undefined],
])("%# a path is inside a folder, or it is not", (system, folder, path, inside) => {
  expect(pathInside(folder, path, system)).toBe(inside);
});
