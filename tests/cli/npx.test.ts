import { chmodSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { CLI, createTinyProject } from "../kit.ts";
import { NPM, start } from "../packed.ts";
import { processesIn, signalAll } from "../process.ts";

test("SIGTERM to npx, which hands it to its shell alone, ends the server that it runs", async () => {
  const project = createTinyProject(undefined, {
    "package.json": `{ "dependencies": { "kit": "*" } }`,
    "node_modules/.bin/kit": `#!/usr/bin/env node\nimport(${JSON.stringify(CLI)});\n`,
  });
  chmodSync(join(project, "node_modules/.bin/kit"), 0o755);
  onTestFinished(() => {
    signalAll(project, "SIGKILL");
  });
  const { child, out } = start(project, [
    ...NPM,
    "exec",
    "kit",
    "ui",
    "--",
    "--port",
    "0",
    "--no-open",
  ]);
  await expect.poll(() => out.stdout).toContain("stop with Ctrl-C");
  const url = /http:\S+/.exec(out.stdout)?.[0] ?? "";
  expect((await fetch(url)).status).toBe(200);
  child.kill("SIGTERM");
  await expect.poll(() => processesIn(project)).toEqual([]);
  await expect(fetch(url)).rejects.toThrow();
});
