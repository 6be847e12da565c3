import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startKitUi } from "../e2e/kitUi.ts";
import { createTinyProject, tinySource } from "../kit.ts";

test("what a run prints and its record are the user's alone, and no file holds the token", async () => {
  const TOKEN = "a-token-of-its-own";
  // Whatever the run is given is what it can print.
  const before = "console.log(JSON.stringify(process.env));";
  const project = createTinyProject(tinySource({ before }));
  const { url } = await startKitUi(project, 0, {
    options: ["--host", "0.0.0.0"],
    env: { KIT_UI_TOKEN: TOKEN },
    within: ["sh", "-c", 'umask 000; exec "$@"', "sh"],
  });
  const { headers } = await fetch(url, { redirect: "manual" });
  const cookie = headers.get("set-cookie")?.split(";")[0] ?? "";
  const train = await fetch(new URL("/api/train", url), { method: "POST", headers: { cookie } });
  expect(await train.text()).toContain("completed");

  const kit = join(project, ".kit");
  const run = readdirSync(join(kit, "run"), { withFileTypes: true });
  const modes = run
    .filter((entry) => entry.isFile())
    .map(({ name }) => [name, (statSync(join(kit, "run", name)).mode & 0o777).toString(8)]);
  expect(modes).toEqual([
    ["output.log", "600"],
    ["run.json", "600"],
  ]);
  const secret = cookie.split("=")[1] ?? "";
  expect(secret.length).toBeGreaterThan(20);
  for (const entry of readdirSync(kit, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const content = readFileSync(join(entry.parentPath, entry.name), "latin1");
    expect(content).not.toContain(TOKEN);
    expect(content).not.toContain(secret);
  }
});
