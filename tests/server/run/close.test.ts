import { readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type Owner, ownerState } from "../../../disk/owner.ts";
import { readRun } from "../../../jobs/runLease.ts";
import { createJobStore } from "../../../jobs/store.ts";
import { type JobsResponse } from "../../../protocol/http.ts";
import { createRunner } from "../../../server/run/runner.ts";
import { createForeignJob } from "../../jobs.ts";
import { ENDLESS, createTinyProject, tinySource } from "../../kit.ts";
import { isRunning } from "../../process.ts";
import { createProject } from "../../project.ts";
import { parseFrames, readBody, standIn, startServer } from "../../uiServer.ts";
import { simulateWindows } from "../../windows.ts";
import { attach, outputLog, pidIn, postTrain, startWith, recordPath } from "../standInRun.ts";

const DIST_JOB = join(import.meta.dirname, "../../../dist/jobs/ownedJob.js");

/** A run that prints the id of its job and ignores signals. */
const DEAF = `
  const { createOwnedJob } = await import(${JSON.stringify(DIST_JOB)});
  const job = createOwnedJob(process.cwd(), "deaf", {});
  job.append({ event: "training.log", data: { step: 7 } });
  process.on("SIGTERM", () => undefined);
  writeSync(1, job.job.id);
  await gate("never");`;

/** Leaves its pid, and that of its child. */
const CHILD = `
  import { spawn } from "node:child_process";
  const child = spawn("sleep", ["600"], { stdio: "ignore" });
  writeFileSync("pid", String(process.pid));
  writeFileSync("child", String(child.pid));`;

test("closing lets a run end and print its last lines, and starts nothing more", async () => {
  const { train, url, close, project } = await startWith(
    `process.on("SIGTERM", () => { writeSync(1, "cancelled"); process.exit(); });
     writeSync(1, "running "); await gate("never");`,
    { graceMs: 60_000 },
  );
  const body = readBody(await train());
  await body.until((text) => text === "running ");
  await Promise.all([close(), close()]);
  expect(String(outputLog(project))).toBe("running cancelled");
  await expect(attach(url)).rejects.toThrow();
});

test("a client that reads a run's output while the server closes gets all of it", async () => {
  const { train, close } = await startWith(
    `process.on("SIGTERM", () => { writeSync(1, "x".repeat(3_000_000) + "cancelled"); process.exit(); });
     writeSync(1, "running "); await gate("never");`,
    { graceMs: 60_000, drainMs: 60_000 },
  );
  const body = readBody(await train());
  await body.until((text) => text === "running ");
  const closed = close();
  expect(String(await body.all())).toMatch(/xcancelled$/);
  await closed;
});

test("closing ends all processes of a run, even those that ignore SIGTERM", async () => {
  const { project, train, close } = await startWith(
    `import { spawn } from "node:child_process";
     process.on("SIGTERM", () => writeSync(1, "no"));
     const child = spawn("sh", ["-c", "trap '' TERM; echo; sleep 600"], { stdio: ["ignore", "pipe", "ignore"] });
     child.stdout.once("data", () => {
       writeFileSync("pid", String(process.pid));
       writeFileSync("child", String(child.pid));
       writeSync(1, "ready");
     });`,
    { graceMs: 100 },
  );
  await readBody(await train()).until((text) => text === "ready");
  const pids = [pidIn(project, "pid"), pidIn(project, "child")];
  expect(pids.map(isRunning)).toEqual([true, true]);
  await close();
  await expect.poll(() => pids.map(isRunning)).toEqual([false, false]);
});

test.each([
  ["ends a run with its children, and cancels its job", {}, false, "cancelled"],
  ["calls no run cancelled that it could not end", { "taskkill.exe": "exit 1" }, true, undefined],
])("on Windows, closing %s", async (_, programs, isLeft, status) => {
  simulateWindows(programs);
  const project = createProject();
  const kit = standIn(project, `${CHILD}${DEAF}`);
  const { close, url } = await startServer({ project, kit, graceMs: 100 });
  const id = await readBody(await postTrain(url)).until((text) => text.length > 0);
  const pids = [pidIn(project, "pid"), pidIn(project, "child")];
  onTestFinished(() => pids.filter(isRunning).forEach((pid) => process.kill(pid, "SIGKILL")));
  await close();
  expect(pids.map(isRunning)).toEqual([isLeft, isLeft]);
  expect(readRun(project)?.status).toBe(status);
  expect(createJobStore(project).get(id)?.job.status).toBe(status ?? "running");
});

test("on Windows, closing lets a job end with its callbacks", async () => {
  simulateWindows();
  const options = `${ENDLESS} callbacks: { onCancelled: () => console.log("bye") },`;
  const project = createTinyProject(tinySource({ options }));
  const { close, url } = await startServer({ project, graceMs: 60_000 });
  const body = readBody(await postTrain(url));
  await body.until((text) => text.includes("step"));
  await close();
  expect(String(outputLog(project))).toContain("bye");
  expect(readRun(project)?.status).toBe("cancelled");
});

test("closing while a run is being launched ends that run, and nothing else", async () => {
  const project = createProject();
  const runner = createRunner({ project, kit: standIn(project, `await gate("never");`) });
  const started = runner.start();
  await runner.close();
  await started;
  const path = recordPath(project);
  const { owner } = JSON.parse(readFileSync(path, "utf8")) as { owner: Owner };
  expect(ownerState(owner)).toBe("gone");
  await expect(runner.start()).rejects.toMatchObject({ code: "CLOSED" });
});

test("closing cancels the job of a run that had to be killed, and no other", async () => {
  const project = createProject();
  const kit = standIn(project, DEAF);
  const { close, url } = await startServer({ project, kit, graceMs: 100 });
  const { id: other } = await createForeignJob(project, []);
  const body = readBody(await postTrain(url));
  const id = await body.until((text) => text.length > 0);
  await close();
  const jobs = createJobStore(project);
  expect(jobs.get(id)).toEqual({ job: expect.objectContaining({ status: "cancelled" }) });
  expect(readFileSync(jobs.logPath(id), "utf8")).toMatch(
    /"event":"training.cancelled",.*"data":\{"step":7\}\}\n$/,
  );
  expect(jobs.get(other)?.job.status).toBe("queued");
});

test("a client that follows the job of a killed run gets the end from its log", async () => {
  for (let round = 0; round < 5; round++) {
    const project = createProject();
    const kit = standIn(project, DEAF);
    // Checks the owner so often that one check falls between its end and the log's.
    const { close, url } = await startServer({ project, kit, graceMs: 50 + 10 * round });
    const output = readBody(await postTrain(url));
    const id = await output.until((text) => text.length > 0);
    const stream = readBody(await fetch(`${url}api/jobs/${id}/events`));
    let isOver = false;
    const listed = new Set<string>();
    const watch = async () => {
      while (!isOver) {
        const { jobs } = (await (await fetch(`${url}api/jobs`)).json()) as JobsResponse;
        for (const { status } of jobs) listed.add(status);
      }
    };
    const watching = watch().catch(() => undefined);
    const closed = close();
    const frames = parseFrames(String(await stream.all()));
    await closed;
    isOver = true;
    await watching;
    expect(frames.map(({ event }) => event)).toEqual(["training.log", "end"]);
    expect([...listed]).not.toContain("failed");
  }
});

test("a log that cannot be written keeps no server from closing", async () => {
  const project = createProject();
  const kit = standIn(project, DEAF);
  const { close, url } = await startServer({ project, kit, graceMs: 50 });
  const output = readBody(await postTrain(url));
  const id = await output.until((text) => text.length > 0);
  const log = createJobStore(project).logPath(id);
  rmSync(log);
  symlinkSync(log, log);
  await close();
  expect(createJobStore(project).get(id)?.job.status).toBe("failed");
});
