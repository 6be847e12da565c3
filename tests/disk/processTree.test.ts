import { expect, test } from "vitest";
import { isTreeGone, killCommand, signalTree } from "../../disk/processTree.ts";
import { isRunning, spawnProcess } from "../process.ts";
import { simulateWindows } from "../windows.ts";

test("Windows ends a tree only while its leader runs: another process may get its pid", async () => {
  simulateWindows();
  const { pid } = spawnProcess("sleep", ["60"]);
  expect(killCommand(pid)).toBe(`taskkill /F /T /PID ${pid}`);
  expect(signalTree({ pid, exitCode: 0 }, "SIGKILL")).toBe(false);
  expect([isRunning(pid), isTreeGone(pid)]).toEqual([true, false]);
  expect(signalTree({ pid, exitCode: null, signalCode: null }, "SIGTERM")).toBe(true);
  await expect.poll(() => isTreeGone(pid)).toBe(true);
  expect(signalTree({ pid }, "SIGKILL"), "it has ended").toBe(true);
});

test.each([undefined, 0, 1, -5, 1.5])("no pid %s is signalled", (pid) => {
  expect(signalTree({ pid }, "SIGKILL")).toBe(false);
});
