import { expect, test } from "vitest";
import { spawnModule } from "../../process.ts";

test("a process whose thread is in a loop is ended by its watchdog, with a sentence", async () => {
  const { child, line } = spawnModule(`
    const { startWatchdog } = await dist("cli/process/watchdog.js");
    console.log("looping");
    startWatchdog(100, "the last words");
    for (;;);
  `);
  expect(await line()).toBe("looping");
  const [, signal] = await new Promise<unknown[]>((resolve) =>
    child.once("exit", (...ended) => resolve(ended)),
  );
  expect(signal).toBe("SIGKILL");
});

/** Fails when the watchdog wants to interrupt the thread, and ends its wait. */
const NO_INSPECTOR = `require("inspector").Session = class {
  constructor() { require("fs").writeFileSync(process.env.WANTED, ""); throw new Error("none"); }
};`;

test("a runtime without an inspector says that its thread is blocked, and goes on", async () => {
  const { line } = spawnModule(
    `
    const { letSignalsEndBlockedProcess } = await dist("cli/process/watchdog.js");
    const { existsSync } = await import("node:fs");
    letSignalsEndBlockedProcess();
    const cell = new Int32Array(new SharedArrayBuffer(4));
    while (!existsSync(process.env.WANTED)) Atomics.wait(cell, 0, 0, 50);
    setTimeout(() => console.log("goes on"), 0);
  `,
    [],
    `exec 2>&1; d=$(mktemp -d); echo '${NO_INSPECTOR}' > $d/none.cjs; export WANTED=$d/wanted NODE_OPTIONS="--require $d/none.cjs"`,
  );
  const lines = [await line(), await line()].sort();
  expect(lines).toEqual([
    "goes on",
    expect.stringContaining("has blocked the event loop for 10 s."),
  ]);
});
