import { chmodSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { startKitUi } from "../e2e/kitUi.ts";
import { createTinyProject, runKit, tinySource } from "../kit.ts";

test("only the user can write a run's files and, bundle and models aside, read them; no file holds the token", async () => {
  const TOKEN = "a-token-of-its-own";
  // The run prints everything it was given.
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
  const entries = readdirSync(kit, { recursive: true, withFileTypes: true });
  const modes = entries.map((entry) => {
    const path = join(entry.parentPath, entry.name);
    return [relative(kit, path), (statSync(path).mode & 0o777).toString(8)] as const;
  });
  modes.push([".", (statSync(kit).mode & 0o777).toString(8)]);
  const having = (mode: string) =>
    modes
      .filter(([, found]) => found === mode)
      .map(([path]) => path.replace(/^jobs.[^/]+/, "jobs/<id>"))
      .toSorted();
  const isSaved = (path: string) => path.startsWith("jobs/<id>/artifacts/step-");
  const [folders, readable] = [having("755"), having("644")];
  expect(folders.filter((path) => !isSaved(path))).toEqual(
    [".", "build", "jobs", "jobs/<id>", "jobs/<id>/artifacts", "run"].toSorted(),
  );
  expect(readable.filter((path) => !isSaved(path))).toEqual(["build/index.mjs"]);
  expect(readable.some(isSaved)).toBe(true);
  expect(having("600")).toEqual([
    ...["data.jsonl", "events.ndjson", "job.json", "lease.json"].map((name) => `jobs/<id>/${name}`),
    ...["run/lease.json", "run/output.log"],
  ]);
  expect(folders.length + readable.length + having("600").length).toBe(modes.length);
  const secret = cookie.split("=")[1] ?? "";
  expect(secret.length).toBeGreaterThan(20);
  for (const entry of readdirSync(kit, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const content = readFileSync(join(entry.parentPath, entry.name), "latin1");
    expect(content).not.toContain(TOKEN);
    expect(content).not.toContain(secret);
  }
});

test("what an older Kit left for others to write is theirs no more, once it runs", async () => {
  const project = createTinyProject();
  await runKit(project, ["build"]);
  const [folder, bundle] = [join(project, ".kit/build"), join(project, ".kit/build/index.mjs")];
  for (const path of [folder, bundle]) chmodSync(path, 0o777);
  expect(await runKit(project, ["start"])).toMatchObject({ code: 0 });
  expect([folder, bundle].map((path) => (statSync(path).mode & 0o777).toString(8))).toEqual([
    "755",
    "755",
  ]);
});
