import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { takeLock } from "../../../disk/lock.ts";
import { createRunner } from "../../../server/run/runner.ts";
import { isRunning, spawnModule } from "../../process.ts";
import { createProject } from "../../project.ts";
import { errorOf, openGate, readBody, standIn, startServer } from "../../uiServer.ts";
import { attach, pidIn, postTrain, startWith } from "../standInRun.ts";

test("a second click while a run is in flight is 409, and starts no process", async () => {
  const { project, train } = await startWith(
    `writeFileSync("started-" + process.pid, ""); await gate("go"); writeSync(1, "done");`,
  );
  const answers = await Promise.all([train(), train(), train()]);
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
  const refused = answers.find(({ status }) => status === 409) as Response;
  expect(await errorOf(refused)).toMatch(/^A run is in flight\. Wait/);
  expect((await train()).status).toBe(409);
  openGate(project, "go");
  const accepted = answers.find(({ status }) => status === 200) as Response;
  expect(await accepted.text()).toBe("done");
  expect(readdirSync(project).filter((name) => name.startsWith("started-"))).toHaveLength(1);
});

test("of two servers that are asked at the same moment one launches, and both have its run", async () => {
  const project = createProject();
  const kit = standIn(project, `writeFileSync("started-" + process.pid, ""); await gate("never");`);
  const runners = [createRunner({ project, kit }), createRunner({ project, kit })];
  const starts = await Promise.allSettled(runners.map((runner) => runner.start()));
  expect(starts.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  expect(starts).toContainEqual(
    expect.objectContaining({ reason: expect.objectContaining({ code: "RUN_IN_FLIGHT" }) }),
  );
  const ids = await Promise.all(runners.map(async (runner) => (await runner.last())?.id));
  expect(ids[0]).toMatch(/./);
  expect(ids[1]).toBe(ids[0]);
  await Promise.all(runners.map((runner) => runner.close()));
  expect(readdirSync(join(project, ".kit", "run")).sort()).toEqual(["lease.json", "output.log"]);
});

test("a launch that another server does not finish is a 409, and requests for its output are answered", async () => {
  const { project, url, train } = await startWith("");
  mkdirSync(join(project, ".kit", "run"), { recursive: true });
  const lock = await takeLock(join(project, ".kit", "run", "launch.lock"), 0);
  const [refused, none] = await Promise.all([train(), attach(url)]);
  expect(refused.status).toBe(409);
  expect(await errorOf(refused)).toMatch(
    /^Another kit ui has been starting a run for 5 s\..*remove/,
  );
  expect(none.status).toBe(204);
  lock?.release();
  expect((await train()).status).toBe(200);
});

const SERVER_OF_ITS_OWN = `
  const { startUiServer } = await dist("server/server.js");
  const [project, page, ...kit] = process.argv.slice(1);
  const { port } = await startUiServer({ project, page, kit, host: "127.0.0.1", port: 0 });
  console.log(port);`;

test("a second server beside the first shows its run, and closes without ending it", async () => {
  const project = createProject();
  const page = createProject({ "index.html": "" });
  const code = `writeFileSync("pid", String(process.pid)); writeSync(1, "first"); await gate("never");`;
  const kit = standIn(project, code);
  const second = await startServer({ project, kit });
  const first = spawnModule(SERVER_OF_ITS_OWN, [project, page, ...kit]);
  const port = await first.line();
  const tab = readBody(await postTrain(`http://127.0.0.1:${port}/`));
  await tab.until((text) => text === "first");
  const body = readBody(await attach(second.url));
  expect(await body.until((text) => text.length > 0)).toBe("first");
  await second.close();
  expect(isRunning(pidIn(project, "pid"))).toBe(true);
  process.kill(-pidIn(project, "pid"), "SIGKILL");
});
