import { appendFileSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createLineSplitter } from "../../jobs/log/lines.ts";
import { createJobStore } from "../../jobs/store.ts";
import { STARTED, appendRaw, createJob, logOf } from "../jobs.ts";
import { createProject } from "../project.ts";

const MEGABYTE = 1e6;

/** Bytes that this process has read from files while it did something. */
function bytesRead(act: () => unknown): number {
  const count = () => Number(/rchar: (\d+)/.exec(readFileSync("/proc/self/io", "utf8"))?.[1]);
  const before = count();
  act();
  return count() - before;
}

test("an empty log of 3 GB costs the first list little, and the next ones nothing until it changes", () => {
  const project = createProject();
  const good = createJob(project, "good", [STARTED]);
  const bad = createJob(project, "bad");
  truncateSync(logOf(bad), 3e9);
  const store = createJobStore(project);
  expect(bytesRead(() => store.list())).toBeLessThan(100 * MEGABYTE);
  expect(bytesRead(() => store.list())).toBeLessThan(MEGABYTE);
  const statusOf = (name: string) => store.list().find((job) => job.name === name)?.status;
  expect([statusOf("good"), statusOf("bad")]).toEqual(["running", "queued"]);
  appendRaw(bad, '\n{"event":"training.completed","data":{}}\n');
  expect(statusOf("bad")).toBe("completed");
  expect(store.get(good.job.id)?.job.status).toBe("running");
});

test("a job.json of 1 GB is not read, and hides no other job", () => {
  const project = createProject();
  createJob(project, "good");
  truncateSync(join(createJob(project, "bad").directory, "job.json"), 1e9);
  const store = createJobStore(project);
  expect(bytesRead(() => store.list())).toBeLessThan(MEGABYTE);
  expect(store.list().map(({ name }) => name)).toEqual(["good"]);
});

test("an invalid job.json is read again only when it has changed", () => {
  const project = createProject();
  const path = join(createJob(project, "mended").directory, "job.json");
  const content = readFileSync(path);
  writeFileSync(path, " ".repeat(0.9 * MEGABYTE));
  const store = createJobStore(project);
  expect(bytesRead(() => store.list())).toBeGreaterThan(0.9 * MEGABYTE);
  expect(bytesRead(() => store.list())).toBeLessThan(0.5 * MEGABYTE);
  writeFileSync(path, content);
  expect(store.list().map(({ name }) => name)).toEqual(["mended"]);
});

test("a line longer than any record is skipped, and takes no more memory than one", () => {
  const chunk = Buffer.alloc(MEGABYTE, "x");
  const cut = createLineSplitter();
  const before = process.memoryUsage().arrayBuffers;
  for (let n = 0; n < 200; n++) expect(cut(chunk)).toBeUndefined();
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20 * MEGABYTE);
  const record = '{"event":"training.completed","data":{}}\n';
  const lines = cut(Buffer.from(`{"event":"training.failed","data":{}}\n${record}${record}{"ev`));
  expect(String(lines?.bytes)).toBe(record + record);
  expect(lines?.offset).toBe(200 * MEGABYTE + '{"event":"training.failed","data":{}}\n'.length);
  const next = cut(Buffer.from('ent":"a"}\n'));
  expect(String(next?.bytes)).toBe('{"event":"a"}\n');
  expect(next?.offset).toBe(lines!.offset + 2 * record.length);
});

test("a last line of 4 MB still shows how a job ended", () => {
  const project = createProject();
  const job = createJob(project, "long", [STARTED]);
  const error = "x".repeat(4 * MEGABYTE);
  appendFileSync(logOf(job), `{"event":"training.failed","data":{"error":"${error}"}}\n`);
  expect(statSync(logOf(job)).size).toBeGreaterThan(4 * MEGABYTE);
  expect(createJobStore(project).get(job.job.id)?.job.status).toBe("failed");
});
