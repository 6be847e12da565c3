import { expect, test } from "vitest";
import { describeEnd } from "../../disk/processEnd.ts";

test.each([
  [1, null, "code 1"],
  [null, "SIGKILL", "SIGKILL"],
  [3_221_225_477, null, "code 0xc0000005"],
] as const)("a process that ended with %s and %s: %s", (code, signal, text) => {
  expect(describeEnd(code, signal)).toBe(text);
});
