import { existsSync, readFileSync, rmSync } from "node:fs";
import { expect, onTestFinished, test, vi } from "vitest";
import { describeOwner } from "../../../disk/owner.ts";
import { SILENCE_MS } from "../../../jobs/ownerWatch.ts";
import { type RunLease, readRun } from "../../../jobs/runLease.ts";
import { createRunner } from "../../../server/run/runner.ts";
import { CLI } from "../../kit.ts";
import { createProject } from "../../project.ts";
import { openGate, readBody, standIn, startServer } from "../../uiServer.ts";
import { attach, postTrain, recordPath, writeRun } from "../standInRun.ts";

/** Of a process that nobody here can see. */
const FOREIGN = { ...describeOwner(), bootId: "another", host: "another", pid: 999_999 };

test("a run holds its lease itself, for a server that is killed before it could record it", async () => {
  const project = createProject({
    "src/kit/index.ts": "await new Promise((go) => setTimeout(go, 60_000));",
  });
  const kit = standIn(project, `await gate("go"); await import(${JSON.stringify(CLI)});`);
  const { url } = await startServer({ project, kit });
  const body = readBody(await postTrain(url));
  const path = recordPath(project);
  const { renewal: _, ...byServer } = JSON.parse(readFileSync(path, "utf8")) as RunLease;
  rmSync(path);
  openGate(project, "go");
  await expect.poll(() => existsSync(path)).toBe(true);
  expect(readRun(project)).toMatchObject(byServer);
  await body.cancel();
});

test("an id that no server has written is no run's", async () => {
  const project = createProject();
  writeRun(project, { id: "a\nb", owner: describeOwner() });
  const { url } = await startServer({ project });
  expect((await attach(url)).status).toBe(204);
});

test("a run out of sight is in flight until its lease has stood still for a minute", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const project = createProject();
  const run = writeRun(project, { owner: FOREIGN });
  const runner = createRunner({ project, kit: standIn(project, "") });
  const refused = () => expect(runner.start()).rejects.toMatchObject({ code: "RUN_IN_FLIGHT" });
  for (let renewal = 1; renewal < 20; renewal++) {
    await refused();
    vi.advanceTimersByTime(SILENCE_MS / 6);
    writeRun(project, { ...run, renewal });
  }
  await refused();
  // The reader's own sleep is no silence of the run.
  vi.advanceTimersByTime(3_600_000);
  await refused();
  for (let passed = 0; passed < SILENCE_MS; passed += 2_000) {
    vi.advanceTimersByTime(2_000);
    await runner.last();
  }
  expect((await runner.start()).status()).toBe("running");
  await runner.close();
});

test("a run out of sight is shown until it has released its lease", async () => {
  const project = createProject();
  const run = writeRun(project, { owner: FOREIGN });
  const { url } = await startServer({ project, kit: standIn(project, "") });
  const shown = await attach(url);
  expect(shown.status).toBe(200);
  expect((await postTrain(url)).status).toBe(409);
  writeRun(project, { ...run, isReleased: true });
  expect(await shown.text()).toBe("");
  expect((await postTrain(url)).status).toBe(200);
});

test("a run whose process ended and whose pid is taken again is not in flight", async () => {
  const project = createProject();
  writeRun(project, { owner: { ...describeOwner(), startTime: "1" } });
  const { url } = await startServer({ project, kit: standIn(project, "") });
  expect((await attach(url)).status).toBe(204);
});

test.each(["", "{", "null", "7", '{"owner":null}', '{"owner":{"pid":1}}'])(
  "a record of %j does not count as a run in flight",
  async (content) => {
    const project = createProject({ ".kit/run/lease.json": content });
    const { url } = await startServer({ project });
    expect((await attach(url)).status).toBe(204);
  },
);
