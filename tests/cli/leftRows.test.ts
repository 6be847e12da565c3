import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { GATED, createTinyProject, openGate, runKit, startKit, tinySource } from "../kit.ts";

const ROWS = `dataset: async function* () {
  yield { prompt: "1", completion: "1" };
  console.log("begun");
  await gate();
  yield { prompt: "2", completion: "2" };
},`;

test("kit check removes the rows that a killed one left, and not those of one that runs", async () => {
  const project = createTinyProject(tinySource({ before: GATED, options: ROWS }));
  const TMPDIR = join(project, "tmp");
  mkdirSync(TMPDIR);
  const left = () => readdirSync(TMPDIR).filter((name) => name.startsWith("kit-check-"));
  const start = async () => {
    const check = startKit(project, ["check"], { TMPDIR });
    await check.printed(/begun/);
    return check;
  };
  const killed = await start();
  const [folder = ""] = left();
  killed.child.kill("SIGKILL");
  await killed.ended;
  expect(left()).toEqual([folder]);
  const running = await start();
  const [other = "", ...more] = left();
  expect([other, ...more]).toEqual([expect.not.stringContaining(folder)]);
  openGate(project);
  expect((await runKit(project, ["check"], { TMPDIR })).code).toBe(0);
  expect((await running.ended).code).toBe(0);
  expect(left()).toEqual([]);
});

test("kit start removes the rows that a killed one had begun to write", async () => {
  const project = createTinyProject(tinySource({ before: GATED, options: ROWS }));
  const partial = () =>
    readdirSync(join(project, ".kit/jobs"), { recursive: true })
      .map(String)
      .filter((path) => path.endsWith(".partial"));
  const killed = startKit(project, ["start"]);
  await killed.printed(/begun/);
  killed.child.kill("SIGKILL");
  await killed.ended;
  expect(partial()).toHaveLength(1);
  openGate(project);
  expect((await runKit(project, ["start"])).code).toBe(0);
  expect(partial()).toEqual([]);
});
