import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { describeOwner } from "../../disk/owner.ts";
import type { RunLease } from "../../jobs/runLease.ts";
import type { Job } from "../../protocol/job.ts";
import { COMPLETED, STARTED, createJob, logged } from "../jobs.ts";
import { ENDLESS, createTinyProject, tinySource } from "../kit.ts";
import { createProject } from "../project.ts";
import { errorOf, readBody, startServer } from "../uiServer.ts";
import { postTrain, recordPath } from "./standInRun.ts";

test("a project without jobs has an empty list", async () => {
  const { url } = await startServer();
  const response = await fetch(`${url}api/jobs`);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
  expect(await response.json()).toEqual({ jobs: [] });
});

test("the list holds each job's four fields, newest first", async () => {
  const { url, project } = await startServer();
  const old = {
    id: "20260101-000000-001-aaaa",
    name: "old",
    createdAt: "2026-01-01T00:00:00.001Z",
    status: "failed",
  };
  const jobFile = JSON.stringify({ ...old, config: {} });
  const { job } = createJob(project, "new", [STARTED, COMPLETED]);
  createProjectFile(project, `.kit/jobs/${old.id}/job.json`, jobFile);
  const lease = { owner: { ...describeOwner(), startTime: "1" }, renewal: 0 };
  createProjectFile(project, `.kit/jobs/${old.id}/lease.json`, JSON.stringify(lease));
  const { jobs } = (await (await fetch(`${url}api/jobs`)).json()) as { jobs: unknown[] };
  expect(jobs).toEqual([{ ...job, status: "completed" }, old]);
});

test("an unchanged list is 304, a changed one is sent with another tag", async () => {
  const { url, project } = await startServer();
  const job = createJob(project);
  const ask = (tag: string) => fetch(`${url}api/jobs`, { headers: { "If-None-Match": tag } });
  const first = await ask("");
  const tag = first.headers.get("etag") ?? "";
  expect(tag).toMatch(/^"[\w-]+"$/);
  const unchanged = await ask(tag);
  expect(unchanged.status).toBe(304);
  expect(unchanged.headers.get("etag")).toBe(tag);
  expect(await unchanged.text()).toBe("");
  expect((await ask(`"x", W/${tag}`)).status).toBe(304);
  job.append(STARTED);
  const changed = await ask(tag);
  expect(changed.status).toBe(200);
  expect(changed.headers.get("etag")).not.toBe(tag);
});

test("a job is answered with its fields and how far it is, and one that is not there with 404", async () => {
  const { url, project } = await startServer();
  createJob(project, "other");
  const { job, append } = createJob(project, "asked for", [STARTED]);
  const ask = (id: string) => fetch(`${url}api/jobs/${id}`);
  const log = { size: expect.any(Number) as number, quietMs: expect.any(Number) as number };
  expect(await (await ask(job.id)).json()).toEqual({ ...job, status: "running", log });
  append(logged(2));
  const running = { ...job, status: "running", progress: 2 / 3, log };
  expect(await (await ask(job.id)).json()).toEqual(running);
  append(COMPLETED);
  expect(await (await ask(job.id)).json()).toEqual({ ...job, status: "completed" });
  for (const id of ["20260101-000000-001-aaaa", "..%2f..", "%00"]) {
    const { status } = await ask(id);
    expect(status, id).toBe(id.startsWith("2") ? 404 : 400);
  }
});

test("a resumed job is as far as its checkpoint before its first log", async () => {
  const { url, project } = await startServer();
  const run = { model: "kit/nano", parameters: 1, rows: 2, maxSteps: 400 };
  const data = { ...run, resumedFrom: "other", resumedStep: 300 };
  const { job } = createJob(project, "resumed", [{ event: "training.started", data }]);
  const answer = await fetch(`${url}api/jobs/${job.id}`);
  expect(await answer.json()).toMatchObject({ progress: 0.75 });
});

test("jobs that cannot be read are 500 with a sentence", async () => {
  const project = createProject({ ".kit/jobs": "a file" });
  const { url } = await startServer({ project });
  const response = await fetch(`${url}api/jobs`);
  expect(response.status).toBe(500);
  expect(await errorOf(response)).toMatch(/^Cannot read /);
});

test("once a run's output has ended, the list says how its job ended, however lately it was read", async () => {
  const project = createTinyProject(tinySource({ options: ENDLESS }));
  const { url } = await startServer({ project, ownersFreshMs: 3_600_000 });
  const statuses = async () => {
    const { jobs } = (await (await fetch(`${url}api/jobs`)).json()) as { jobs: Job[] };
    return jobs.map(({ status }) => status);
  };
  const output = readBody(await postTrain(url));
  await output.until((text) => /step +2\//.test(text));
  expect(await statuses()).toEqual(["running"]);
  const { owner } = JSON.parse(readFileSync(recordPath(project), "utf8")) as RunLease;
  process.kill(owner.pid, "SIGKILL");
  await output.all();
  expect(await statuses()).toEqual(["failed"]);
});

function createProjectFile(project: string, path: string, content: string): void {
  mkdirSync(dirname(join(project, path)), { recursive: true });
  writeFileSync(join(project, path), content);
}
