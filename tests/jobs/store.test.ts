import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { isJobId } from "../../jobs/id.ts";
import { createOwnedJob } from "../../jobs/ownedJob.ts";
import { OWNER_GONE } from "../../jobs/status.ts";
import { createJobStore } from "../../jobs/store.ts";
import type { JobEvent } from "../../protocol/event.ts";
import {
  COMPLETED,
  CONFIG,
  STARTED,
  appendRaw,
  createForeignJob,
  createJob,
  logOf,
  logged,
} from "../jobs.ts";
import { createProject } from "../project.ts";

const FAILED: JobEvent = { event: "training.failed", data: { error: "The dataset is empty." } };
const CANCELLED: JobEvent = { event: "training.cancelled", data: { step: 3 } };

test("a new job is on disk with its config before anything has happened", () => {
  const project = createProject();
  const { job, directory } = createJob(project, "dates");
  expect(isJobId(job.id)).toBe(true);
  expect(directory).toBe(join(project, ".kit", "jobs", job.id));
  expect(readdirSync(directory).sort()).toEqual(["events.ndjson", "job.json", "lease.json"]);
  expect(JSON.parse(readFileSync(join(directory, "job.json"), "utf8"))).toEqual({
    id: job.id,
    name: "dates",
    createdAt: job.createdAt,
    config: CONFIG,
  });
  expect(createJobStore(project).get(job.id)).toEqual({ job });
});

test("the list is newest first", () => {
  const project = createProject();
  const ids = ["20260101-000000-001-aaaa", "20250101-000000-001-zzzz", "20260101-000000-002-aaaa"];
  for (const id of ids) {
    const directory = join(project, ".kit", "jobs", id);
    mkdirSync(directory, { recursive: true });
    const file = { id, name: "old", createdAt: "2026-01-01T00:00:00.000Z", config: CONFIG };
    writeFileSync(join(directory, "job.json"), JSON.stringify(file));
  }
  const { job } = createJob(project);
  const listed = createJobStore(project).list();
  expect(listed.map(({ id }) => id)).toEqual([job.id, ids[2], ids[0], ids[1]]);
});

test("a job that is made after the clock was set back is first in the list", () => {
  const project = createProject();
  vi.useFakeTimers({ toFake: ["Date"], now: new Date("2026-06-01T12:00:00.000Z") });
  onTestFinished(() => void vi.useRealTimers());
  createJob(project, "before");
  vi.setSystemTime(new Date("2026-06-01T11:00:00.000Z"));
  createJob(project, "after");
  const jobs = createJobStore(project).list();
  expect(jobs.map(({ name }) => name)).toEqual(["after", "before"]);
  expect(jobs[0]?.createdAt).toBe("2026-06-01T11:00:00.000Z");
});

test.each(["", "yesterday", "2026-99-99T00:00:00.000Z"])(
  "a job whose createdAt is %j was made when its id says so",
  (createdAt) => {
    const project = createProject();
    const { job, directory } = createJob(project);
    const path = join(directory, "job.json");
    const file = JSON.parse(readFileSync(path, "utf8")) as object;
    writeFileSync(path, JSON.stringify({ ...file, createdAt }));
    expect(createJobStore(project).list()[0]?.createdAt).toBe(job.createdAt);
  },
);

test.each([
  ["missing", undefined],
  ["empty", ""],
  ["truncated", '{"id":"2026'],
  ["no object", "null"],
  ["without a name", '{"createdAt":"2026-01-01"}'],
])("a job whose job.json is %s is left out, and the others are listed", (_, content) => {
  const project = createProject();
  const whole = createJob(project, "whole");
  const broken = createJob(project, "broken");
  const path = join(broken.directory, "job.json");
  if (content === undefined) rmSync(path);
  else writeFileSync(path, content);
  const store = createJobStore(project);
  expect(store.list()).toEqual([whole.job]);
  expect(store.get(broken.job.id)).toBeUndefined();
});

test("only jobs are listed", () => {
  const project = createProject({
    ".kit/jobs/notes.txt": "",
    ".kit/jobs/x/job.json": JSON.stringify({ name: "x", createdAt: "2026-01-01T00:00:00.000Z" }),
  });
  expect(createJobStore(project).list()).toEqual([]);
});

test("a job whose log cannot be read is listed with the others", () => {
  const project = createProject();
  const job = createJob(project);
  rmSync(logOf(job));
  mkdirSync(logOf(job));
  expect(createJobStore(project).list()).toEqual([job.job]);
});

test.each([
  ["queued", []],
  ["running", [STARTED]],
  ["running", [STARTED, logged(1), logged(2)]],
  ["completed", [STARTED, logged(1), COMPLETED]],
  ["cancelled", [STARTED, CANCELLED]],
  ["cancelled", [CANCELLED]],
])("a job is %s when its log holds %j", (status, events) => {
  const project = createProject();
  const { job } = createJob(project, "job", events);
  expect(createJobStore(project).get(job.id)).toEqual({ job: { ...job, status } });
});

test("a failed job says why", () => {
  const project = createProject();
  const { job } = createJob(project, "job", [STARTED, FAILED]);
  expect(createJobStore(project).get(job.id)).toEqual({
    job: { ...job, status: "failed" },
    error: "The dataset is empty.",
  });
});

test("a job's status follows its log", () => {
  const project = createProject();
  const store = createJobStore(project);
  const job = createJob(project);
  const status = () => store.list()[0]?.status;
  expect(status()).toBe("queued");
  job.append(STARTED);
  expect(status()).toBe("running");
  appendRaw(job, '{"event":"training.comp');
  expect(status()).toBe("running");
  appendRaw(job, '\n{"event":"training.completed","data":{}}\n');
  expect(status()).toBe("completed");
});

test("a line of 1 MB hides neither that a job runs nor how it ended", () => {
  const project = createProject();
  const store = createJobStore(project);
  const job = createJob(project, "job", [STARTED]);
  appendRaw(job, `${"x".repeat(1_000_000)}\n`);
  expect(store.get(job.job.id)?.job.status).toBe("running");
  job.append(COMPLETED);
  appendRaw(job, `${"x".repeat(1_000_000)}\n`);
  expect(store.get(job.job.id)?.job.status).toBe("completed");
});

test.each([
  ["queued", []],
  ["running", [STARTED]],
])("a %s job whose owner was killed is failed, and says so", async (status, events) => {
  const project = createProject();
  const store = createJobStore(project);
  const { id, owner } = await createForeignJob(project, events);
  expect(store.get(id)?.job.status).toBe(status);
  expect(store.leaseOf(id)).toBe("held");
  await owner.kill();
  expect(store.get(id)).toMatchObject({ job: { status: "failed" }, error: OWNER_GONE });
  expect(store.leaseOf(id)).toBe("gone");
  expect(store.hasEnded(id)).toBe(false);
});

test("a job whose folder is deleted is gone from a store that knew it", () => {
  const project = createProject();
  const store = createJobStore(project);
  const { job, directory } = createJob(project, "job", [STARTED, COMPLETED]);
  expect(store.get(job.id)).toBeDefined();
  rmSync(directory, { recursive: true });
  expect(store.get(job.id)).toBeUndefined();
  expect(store.list()).toEqual([]);
});

test.each(["../..", "..", "", ".", "nothing", "20260101-000000-000-aaaa"])(
  "there is no job %j, whatever lies there",
  (id) => {
    const file = JSON.stringify({ name: "job", createdAt: "2026-01-01T00:00:00.000Z" });
    const paths = ["job.json", ".kit/job.json", ".kit/jobs/job.json", ".kit/jobs/nothing/job.json"];
    const project = createProject(Object.fromEntries(paths.map((path) => [path, file])));
    expect(createJobStore(project).get(id)).toBeUndefined();
  },
);

test("an id that another job has is left alone, and the next one is taken", () => {
  const project = createProject();
  const { job: first, directory } = createJob(project, "first", [STARTED, COMPLETED]);
  writeFileSync(join(directory, "checkpoint"), "weights");
  const files = () =>
    readdirSync(directory).map((name) => readFileSync(join(directory, name), "utf8"));
  const before = files();
  const ids = [first.id, first.id, "20260101-000000-000-aaaa"];
  const second = createOwnedJob(project, "second", CONFIG, { newId: () => ids.shift() ?? "" });
  onTestFinished(second.close);
  expect(second.job.id).toBe("20260101-000000-000-aaaa");
  expect(files()).toEqual(before);
  expect(createJobStore(project).list()).toEqual([{ ...first, status: "completed" }, second.job]);

  const create = () => createOwnedJob(project, "third", CONFIG, { newId: () => first.id });
  expect(create).toThrow(/^Cannot create a job in .*: EEXIST/);
  expect(files()).toEqual(before);
});

test("an unwritable folder fails with a sentence", () => {
  const project = createProject({ ".kit": "a file, where a folder should be" });
  const create = () => createOwnedJob(project, "job", CONFIG);
  expect(create).toThrow(expect.objectContaining({ name: "KitError", code: "CANNOT_WRITE" }));
  expect(create).toThrow(/Cannot create a job in .*\.kit\/jobs: .*Make the folder writable/);
});

test("a job that could not be created is not listed, and leaves nothing behind", () => {
  const project = createProject();
  const store = createJobStore(project);
  const unwritable = { ...CONFIG, seed: 1n as unknown as number };
  expect(() => createOwnedJob(project, "job", unwritable)).toThrow(/Cannot create a job/);
  expect(store.list()).toEqual([]);
  expect(readdirSync(join(project, ".kit", "jobs"))).toEqual([]);
});
