import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { createJobId } from "../../jobs/id.ts";
import type { OwnedJob } from "../../jobs/ownedJob.ts";
import { createJobStore } from "../../jobs/store.ts";
import { createRandom } from "../faults/random.ts";
import { COMPLETED, STARTED, appendRaw, createJob, leaveJob, logOf, logged } from "../jobs.ts";
import { createProject } from "../project.ts";

const CHANGES = 100;

test("after any change the list is what a reader without a memory finds", () => {
  const project = createProject();
  const store = createJobStore(project);
  const random = createRandom();
  const jobs: OwnedJob[] = [createJob(project)];
  const below = (count: number) => Math.floor(random() * count);
  const pick = () => jobs[below(jobs.length)]!;
  const changes: (() => unknown)[] = [
    () => jobs.push(createJob(project)),
    () => pick().append(STARTED),
    () => pick().append(logged(1)),
    () => pick().append(COMPLETED),
    () => appendRaw(pick(), "not a record\n"),
    () => appendRaw(pick(), '{"event":"training.failed","data":{"error":"No'),
    () => writeFileSync(join(pick().directory, "artifact"), ""),
    () => leaveJob(pick()),
    () => {
      const directory = join(dirname(pick().directory), createJobId());
      mkdirSync(directory);
    },
    () => {
      const [job] = jobs.length > 1 ? jobs.splice(below(jobs.length), 1) : [];
      if (job) rmSync(job.directory, { recursive: true });
    },
  ];
  for (let n = 0; n < CHANGES; n++) {
    try {
      changes[below(changes.length)]?.();
    } catch (error) {
      // A log that was torn is somebody else's to close off.
      expect(error).toMatchObject({ name: "KitError" });
    }
    // As a stream does, which may see a change before the list.
    store.get(pick().job.id);
    store.hasEnded(pick().job.id);
    const list = store.list();
    expect(list).toEqual(createJobStore(project).list());
    expect(store.list()).toBe(list);
  }
});

test("a change makes one new object, and leaves those of the other jobs", () => {
  const project = createProject();
  const store = createJobStore(project);
  const older = createJob(project, "older", [STARTED]);
  const newer = createJob(project, "newer", [STARTED]);
  const before = store.list();
  older.append(COMPLETED);
  const after = store.list();
  expect(after).not.toBe(before);
  const place = after.findIndex(({ id }) => id === older.job.id);
  expect(after[place]).not.toBe(before[place]);
  expect(after[1 - place]).toBe(before[1 - place]);
  expect(after[1 - place]?.id).toBe(newer.job.id);
});

test("a job is listed as soon as its job.json is written, however late that is", () => {
  const project = createProject();
  const { list } = createJobStore(project);
  const { job, directory } = createJob(project);
  renameSync(join(directory, "job.json"), join(directory, "later"));
  expect(list()).toEqual([]);
  renameSync(join(directory, "later"), join(directory, "job.json"));
  expect(list()).toEqual([job]);
});

test("a job that went and came back is read again", () => {
  const project = createProject();
  const { list } = createJobStore(project);
  const { job, directory } = createJob(project, "job", [STARTED, COMPLETED]);
  const file = readFileSync(join(directory, "job.json"), "utf8");
  expect(list()[0]?.status).toBe("completed");
  rmSync(directory, { recursive: true });
  expect(list()).toEqual([]);
  mkdirSync(directory);
  writeFileSync(join(directory, "job.json"), file);
  expect(list()).toEqual([{ ...job, status: "queued" }]);
});

test("a log is read again when it has grown without growing by a record", () => {
  const project = createProject();
  const { list } = createJobStore(project);
  const job = createJob(project, "job", [STARTED]);
  expect(list()[0]?.status).toBe("running");
  const bytes = readFileSync(logOf(job));
  appendRaw(job, '{"event":"training.completed","data":{}}');
  expect(list()[0]?.status).toBe("running");
  appendRaw(job, "\n");
  expect(list()[0]?.status).toBe("completed");
  expect(readFileSync(logOf(job)).length).toBeGreaterThan(bytes.length);
});
