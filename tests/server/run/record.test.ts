import { randomUUID } from "node:crypto";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { type Owner, describeOwner } from "../../../disk/owner.ts";
import { createRunner } from "../../../server/run/runner.ts";
import { createJob, logOf, moveToOtherContainer } from "../../jobs.ts";
import { CLI } from "../../kit.ts";
import { createProject } from "../../project.ts";
import { openGate, readBody, standIn, startServer } from "../../uiServer.ts";
import { dropClaim, attach, postTrain, recordPath } from "../standInRun.ts";

test("a run records itself, for a server that is killed before it could", async () => {
  const project = createProject({
    "src/kit/index.ts": "await new Promise((go) => setTimeout(go, 60_000));",
  });
  const kit = standIn(project, `await gate("go"); await import(${JSON.stringify(CLI)});`);
  const { url } = await startServer({ project, kit });
  const body = readBody(await postTrain(url));
  const path = recordPath(project);
  const byServer = readFileSync(path, "utf8");
  rmSync(path);
  openGate(project, "go");
  await expect.poll(() => existsSync(path)).toBe(true);
  expect(JSON.parse(readFileSync(path, "utf8"))).toEqual(JSON.parse(byServer));
  await body.cancel();
});

test("an id that no server has written is ignored", async () => {
  const project = createProject();
  const { url } = await startServer({ project });
  mkdirSync(join(project, ".kit", "run"), { recursive: true });
  const record = { id: "a\nb", owner: describeOwner(), server: describeOwner() };
  writeFileSync(recordPath(project), JSON.stringify(record));
  const answer = await attach(url);
  expect(answer.status).toBe(200);
  expect(answer.headers.get("Kit-Run") ?? "").toBe("");
  await answer.body?.cancel();
});

test("a run of another container is in flight for as long as it is at work on a job", async () => {
  const project = createProject();
  const foreign = { ...describeOwner(), bootId: "another", pid: 999_999 };
  mkdirSync(join(project, ".kit", "run"), { recursive: true });
  const path = recordPath(project);
  const id = randomUUID();
  writeFileSync(path, JSON.stringify({ id, owner: foreign, server: foreign }));
  dropClaim(project);
  let hasUnfinishedJob = true;
  const kit = standIn(project, "");
  const runner = createRunner({ project, kit, hasUnfinishedJob: () => hasUnfinishedJob });
  await expect(runner.start()).rejects.toMatchObject({ code: "RUN_IN_FLIGHT" });
  expect((await runner.last())?.id).toBe(id);
  hasUnfinishedJob = false;
  expect(await runner.last()).toBeUndefined();
  expect((await runner.start()).id).not.toBe(id);
  await runner.close();
});

test.each([0, -1, 1])(
  "a run out of sight is in flight until its claim stood still for 10 s, with a clock that is %s h off",
  async (hours) => {
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const foreign = { ...describeOwner(), bootId: "another", pid: 999_999 };
    const record = JSON.stringify({ id: randomUUID(), owner: foreign, server: foreign });
    const project = createProject({ ".kit/run/run.json": record });
    let time = Date.now() / 1000 + hours * 3_600;
    const renew = () => utimesSync(recordPath(project), time, time);
    renew();
    const runner = createRunner({ project, kit: standIn(project, "") });
    const refused = () => expect(runner.start()).rejects.toMatchObject({ code: "RUN_IN_FLIGHT" });
    for (let passed = 0; passed < 30; passed += 2) {
      await refused();
      vi.advanceTimersByTime(2_000);
      time += 2;
      renew();
    }
    await refused();
    // The reader's own sleep is no silence of the run.
    vi.advanceTimersByTime(3_600_000);
    await refused();
    for (let passed = 0; passed < 8; passed += 2) {
      vi.advanceTimersByTime(2_000);
      await runner.last();
    }
    expect((await runner.start()).status()).toBe("running");
    await runner.close();
  },
);

test("a run of another container is shown until its job has ended", async () => {
  const project = createProject();
  const job = createJob(project);
  moveToOtherContainer(job);
  const { owner } = JSON.parse(readFileSync(join(job.directory, "lease.json"), "utf8")) as {
    owner: Owner;
  };
  mkdirSync(join(project, ".kit", "run"));
  writeFileSync(recordPath(project), JSON.stringify({ id: randomUUID(), owner, server: owner }));
  dropClaim(project);
  const { url } = await startServer({ project, kit: standIn(project, "") });
  const shown = await attach(url);
  expect(shown.status).toBe(200);
  expect((await postTrain(url)).status).toBe(409);
  appendFileSync(logOf(job), '{"event":"training.completed","data":{"artifacts":[]}}\n');
  expect(await shown.text()).toBe("");
  expect((await postTrain(url)).status).toBe(200);
});

test.each([
  ["another boot", { bootId: "another" }],
  ["a process that ended and whose pid is taken again", { startTime: "1" }],
  ["every process of the machine", { pid: -1 }],
])("a record left by %s does not count as a run in flight", async (_, owner) => {
  const record = { owner: { ...describeOwner(), ...owner }, server: describeOwner() };
  const project = createProject({ ".kit/run/run.json": JSON.stringify(record) });
  dropClaim(project);
  const { url } = await startServer({ project, kit: standIn(project, "") });
  expect((await attach(url)).status).toBe(204);
});

test.each(["", "{", "null", "7", '{"owner":null}', '{"owner":{"pid":1}}'])(
  "a record of %j does not count as a run in flight",
  async (content) => {
    const { url } = await startServer({ project: createProject({ ".kit/run/run.json": content }) });
    expect((await attach(url)).status).toBe(204);
  },
);
