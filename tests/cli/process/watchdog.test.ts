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
