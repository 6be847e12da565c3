import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeOwner } from "../../disk/owner.ts";
import { openLog } from "../../jobs/log/write.ts";
import { createOwnedJob } from "../../jobs/ownedJob.ts";
import { createJobStore } from "../../jobs/store.ts";
import { HISTORY, THINNED } from "../../protocol/http.ts";
import { CONFIG, createJob, leaveJob, logOf } from "../jobs.ts";
import { createTinyProject, runKit } from "../kit.ts";
import { createProject } from "../project.ts";
import { errorOf, openGate, readBody, standIn, startServer } from "../uiServer.ts";

const SECRET = "nobody else's business";
const NOT_FOLLOWED = "is a symbolic link, which Kit does not follow";

/** Somebody else's project, with a secret in a job and in a run's output. */
function createOutside() {
  const outside = createProject();
  const job = createJob(outside, SECRET, [{ event: "training.failed", data: { error: SECRET } }]);
  const run = join(outside, ".kit", "run");
  mkdirSync(run);
  writeFileSync(join(run, "output.log"), SECRET);
  const owner = describeOwner();
  writeFileSync(
    join(run, "lease.json"),
    JSON.stringify({ id: randomUUID(), owner, server: owner, renewal: 0 }),
  );
  return { outside, run, job };
}

/** Puts a link in the place of a file or folder. */
function replaceByLink(path: string, target: string): void {
  rmSync(path, { recursive: true, force: true });
  symlinkSync(target, path);
}

/** All that a server shows of a project's jobs and run. */
async function tellAll(project: string, id: string) {
  const { url } = await startServer({ project });
  const list = await (await fetch(`${url}api/jobs`)).text();
  const events = await fetch(`${url}api/jobs/${id}/events`);
  const thinned = await fetch(`${url}api/jobs/${id}/events?${HISTORY}=${THINNED}`);
  expect(thinned.status).toBe(events.status);
  const stream = (await events.text()) + (await thinned.text());
  const run = await fetch(`${url}api/train`);
  const last = await fetch(`${url}api/train?run=${encodeURIComponent(SECRET)}&from=0`);
  const outputs = (await run.text()) + (await last.text());
  expect(list + stream + outputs).not.toContain(SECRET);
  return { list, events: events.status, stream, run: run.status };
}

/** A project with a job whose owner has ended. */
function createProjectWithJob() {
  const project = createProject();
  const job = createJob(project, "ours");
  leaveJob(job);
  return { project, job, id: job.job.id, log: logOf(job), file: join(job.directory, "job.json") };
}

test("a job that is a link to a folder elsewhere is not shown", async () => {
  const { job } = createOutside();
  const project = createProject();
  mkdirSync(join(project, ".kit", "jobs"), { recursive: true });
  symlinkSync(job.directory, join(project, ".kit", "jobs", job.job.id));
  expect(await tellAll(project, job.job.id)).toMatchObject({ list: '{"jobs":[]}', events: 404 });
});

test("a job whose job.json is a link is not shown", async () => {
  const { job } = createOutside();
  const { project, id, file } = createProjectWithJob();
  replaceByLink(file, join(job.directory, "job.json"));
  expect(await tellAll(project, id)).toMatchObject({ list: '{"jobs":[]}', events: 404 });
});

test("a job whose log is a link has none", async () => {
  const { job } = createOutside();
  const { project, id, log } = createProjectWithJob();
  replaceByLink(log, logOf(job));
  const { list, stream } = await tellAll(project, id);
  expect(list).toContain('"status":"failed"');
  expect(stream).toMatch(/training\.failed[^]*event: end/);
});

test.each(["a pipe", "/dev/zero", "a link to /dev/zero", "a folder"])(
  "%s in the place of a job's file keeps nobody waiting",
  async (kind) => {
    const put = (path: string) => {
      rmSync(path);
      if (kind === "a pipe") execFileSync("mkfifo", [path]);
      else if (kind === "/dev/zero") execFileSync("mknod", [path, "c", "1", "5"]);
      else if (kind === "a folder") mkdirSync(path);
      else symlinkSync("/dev/zero", path);
    };
    const { project, id, file, log } = createProjectWithJob();
    put(log);
    expect(await tellAll(project, id)).toMatchObject({ events: 200 });
    put(file);
    expect(await tellAll(project, id)).toMatchObject({ list: '{"jobs":[]}', events: 404 });
  },
);

test("where .kit/jobs is a link, the list says what to do, and nothing is written through it", async () => {
  const { outside, job } = createOutside();
  const project = createTinyProject();
  mkdirSync(join(project, ".kit"));
  symlinkSync(join(outside, ".kit", "jobs"), join(project, ".kit", "jobs"));
  const { list, events } = await tellAll(project, job.job.id);
  expect(list).toContain(NOT_FOLLOWED);
  expect(events).toBe(404);
  const { code, stderr } = await runKit(project, ["start"]);
  expect(code).toBe(1);
  expect(stderr).toContain(NOT_FOLLOWED);
  expect(readdirSync(join(outside, ".kit", "jobs"))).toEqual([job.job.id]);
});

test("where .kit/build is a link, the page says what to do, and nothing is written or run through it", async () => {
  const elsewhere = createProject({ "index.mjs": "console.log('planted');" });
  const project = createTinyProject();
  mkdirSync(join(project, ".kit"));
  symlinkSync(elsewhere, join(project, ".kit", "build"));
  const { url } = await startServer({ project });
  const manifest = await fetch(`${url}api/manifest`);
  expect(manifest.status).toBe(422);
  expect(await errorOf(manifest)).toContain(NOT_FOLLOWED);
  const { stdout, stderr } = await runKit(project, ["start"]);
  expect(stdout + stderr).not.toContain("planted");
  expect(stderr).toContain(NOT_FOLLOWED);
  expect(readdirSync(elsewhere)).toEqual(["index.mjs"]);
});

test("a bundle that is a link is not run, but replaced", async () => {
  const elsewhere = createProject({ "index.mjs": "console.log('planted');" });
  const project = createTinyProject();
  mkdirSync(join(project, ".kit", "build"), { recursive: true });
  symlinkSync(join(elsewhere, "index.mjs"), join(project, ".kit", "build", "index.mjs"));
  const { code, stdout } = await runKit(project, ["start"]);
  expect(code).toBe(0);
  expect(stdout).not.toContain("planted");
  expect(readFileSync(join(elsewhere, "index.mjs"), "utf8")).toBe("console.log('planted');");
});

test("where .kit/run is a link, no run is shown and none is started", async () => {
  const { run } = createOutside();
  const before = readdirSync(run);
  const { project, id } = createProjectWithJob();
  symlinkSync(run, join(project, ".kit", "run"));
  expect(await tellAll(project, id)).toMatchObject({ run: 204 });
  const kit = standIn(project, `writeFileSync("started", "");`);
  const { url } = await startServer({ project, kit });
  const answer = await fetch(`${url}api/train`, { method: "POST" });
  expect(answer.status).toBe(500);
  expect(await errorOf(answer)).toContain(NOT_FOLLOWED);
  expect(readdirSync(run)).toEqual(before);
  expect(readFileSync(join(run, "output.log"), "utf8")).toBe(SECRET);
  expect(existsSync(join(project, "started"))).toBe(false);
});

test("a run that was recorded is read through no link", async () => {
  const { run } = createOutside();
  const { project, id } = createProjectWithJob();
  const ours = join(project, ".kit", "run");
  mkdirSync(ours);
  symlinkSync(join(run, "lease.json"), join(ours, "lease.json"));
  expect(await tellAll(project, id)).toMatchObject({ run: 204 });
});

test("a run's output is read through no link", async () => {
  const { run } = createOutside();
  const { project } = createProjectWithJob();
  const kit = standIn(project, `await gate("end");`);
  const { url } = await startServer({ project, kit });
  const first = readBody(await fetch(`${url}api/train`, { method: "POST" }));
  replaceByLink(join(project, ".kit", "run", "output.log"), join(run, "output.log"));
  const second = readBody(await fetch(`${url}api/train`));
  openGate(project, "end");
  expect(String(await first.all()) + String(await second.all())).toBe("");
});

test.each(["output.log", "lease.json"])("a run writes through no planted %s", async (name) => {
  const elsewhere = createProject({ file: SECRET });
  const project = createProject();
  const run = join(project, ".kit", "run");
  mkdirSync(run, { recursive: true });
  symlinkSync(join(elsewhere, "file"), join(run, name));
  const { url } = await startServer({ project, kit: standIn(project, `writeSync(1, "ours");`) });
  const answer = await fetch(`${url}api/train`, { method: "POST" });
  expect(await answer.text()).toBe("ours");
  expect(readFileSync(join(elsewhere, "file"), "utf8")).toBe(SECRET);
});

test("a log is written through no link", () => {
  const elsewhere = createProject({ file: SECRET });
  const { log } = createProjectWithJob();
  replaceByLink(log, join(elsewhere, "file"));
  expect(() => openLog(log)).toThrow();
  expect(readFileSync(join(elsewhere, "file"), "utf8")).toBe(SECRET);
});

test(".kit itself may be a link to a folder on another disk", async () => {
  const disk = createProject();
  const project = createTinyProject();
  symlinkSync(disk, join(project, ".kit"));
  const { url } = await startServer({ project });
  expect((await fetch(`${url}api/manifest`)).status).toBe(200);
  const output = await (await fetch(`${url}api/train`, { method: "POST" })).text();
  expect(output).toContain("completed");
  const [job] = createJobStore(project).list();
  expect(job?.status).toBe("completed");
  expect(await (await fetch(`${url}api/jobs/${job?.id}/events`)).text()).toContain("event: end");
  expect(readdirSync(disk).sort()).toEqual(["build", "jobs", "run"]);
});

test("a .kit that links nowhere is an error with the next step", () => {
  const project = createProject();
  symlinkSync("/nowhere/at/all", join(project, ".kit"));
  expect(() => createOwnedJob(project, "job", CONFIG)).toThrow("to a folder that exists");
});
