import { posix, win32 } from "node:path";
import { expect, test } from "vitest";
import { sourceLocation } from "../../sdk/projectCode.ts";

test.each([
  [posix, "/kit", "    at Object.map (/kit/src/kit/trainer.ts:3:9)", "src/kit/trainer.ts:3:9"],
  [posix, "/kit", "    at file:///kit/a%20b.ts:3:9", "a b.ts:3:9"],
  [win32, "C:\\kit", "    at map (c:\\kit\\src\\trainer.ts:3:9)", "src\\trainer.ts:3:9"],
  [win32, "C:\\kit", "    at async file:///C:/kit/src/trainer.ts:3:9", "src\\trainer.ts:3:9"],
  [win32, "\\\\nas\\kit", "    at map (\\\\nas\\kit\\a\\trainer.ts:3:9)", "a\\trainer.ts:3:9"],
  [win32, "C:\\kit", "    at map (D:\\other\\trainer.ts:3:9)", undefined],
  [win32, "C:\\kit", "    at map (C:\\kit\\node_modules\\a\\b.js:3:9)", undefined],
  [win32, "C:\\kit", "    at map (node:internal/fs:3:9)", undefined],
])("%# an error's place in the project is found on its stack", (system, project, line, place) => {
  const error = new Error("thrown");
  error.stack = `Error: thrown\n${line}`;
  expect(sourceLocation(error, project, system)).toBe(place);
});
