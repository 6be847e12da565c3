import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { describeOwner } from "../../../disk/owner.ts";
import { LONGEST_GAP_MS, MISSING_MS, SILENCE_MS } from "../../../jobs/leaseWatch.ts";
import { type IndexedJob, INDEX_LEAST } from "../../../jobs/list/listIndex.ts";
import { createJobStore } from "../../../jobs/store.ts";
import type { JobEvent } from "../../../protocol/event.ts";
import { STARTED, fillWithJobs } from "../../jobs.ts";
import { createProject } from "../../project.ts";

const FAILED: JobEvent = { event: "training.failed", data: { error: "The dataset is empty." } };

/** A project of many finished jobs, listed once. */
function createListed(end?: JobEvent) {
  const project = createProject();
  const folders = fillWithJobs(project, INDEX_LEAST, end);
  const list = () => createJobStore(project).list();
  const before = list();
  const path = join(project, ".kit", "jobs-index.json");
  const read = () => JSON.parse(readFileSync(path, "utf8")) as IndexedJob[];
  const rename = (name: string) =>
    writeFileSync(path, JSON.stringify(read().map((entry) => ({ ...entry, name }))));
  return { project, path, folders, before, list, read, rename };
}

test("a project of few jobs has no index", () => {
  const project = createProject();
  fillWithJobs(project, INDEX_LEAST - 1);
  createJobStore(project).list();
  expect(readdirSync(join(project, ".kit"))).toEqual(["jobs"]);
});

test("jobs in the index are not read again", () => {
  const { before, list, read, rename } = createListed();
  expect(read().map(({ id }) => id)).toEqual(before.map(({ id }) => id));
  rename("from the index");
  expect(list()).toEqual(before.map((job) => ({ ...job, name: "from the index" })));
});

test("a list of finished jobs stays the same array when it comes from the index", () => {
  const { project } = createListed();
  const store = createJobStore(project);
  const list = store.list();
  expect(store.list()).toBe(list);
});

test("a failed job from the index says why, and its place in the list stays as it is", () => {
  const { project, folders, read } = createListed(FAILED);
  expect(JSON.stringify(read())).not.toContain("dataset");
  const store = createJobStore(project);
  const list = store.list();
  expect(store.get(basename(folders[7]!))?.error).toBe("The dataset is empty.");
  expect(store.list()).toBe(list);
});

const GONE = { owner: { ...describeOwner(), startTime: "1" }, renewal: 3 };

/** A project of many jobs that began, each with this lease. By default their owners were killed. */
function createUnfinished(lease: object = GONE) {
  const project = createProject();
  const folders = fillWithJobs(project, INDEX_LEAST, STARTED);
  for (const folder of folders) writeFileSync(join(folder, "lease.json"), JSON.stringify(lease));
  const path = join(project, ".kit", "jobs-index.json");
  const read = () => JSON.parse(readFileSync(path, "utf8")) as IndexedJob[];
  return { project, folders, path, read };
}

test("the index has killed jobs, too", () => {
  const { project, path, read } = createUnfinished();
  const before = createJobStore(project).list();
  expect(before.map(({ status }) => status)).toEqual(before.map(() => "failed"));
  const renamed = read().map((entry) => ({ ...entry, name: "from the index" }));
  writeFileSync(path, JSON.stringify(renamed));
  const after = createJobStore(project).list();
  expect(after).toEqual(before.map((job) => ({ ...job, name: "from the index" })));
});

test.each([
  ["no lease", (folder: string) => rmSync(join(folder, "lease.json"))],
  ["a torn lease", (folder: string) => writeFileSync(join(folder, "lease.json"), "{")],
  [
    "neither log nor lease",
    (folder: string) =>
      ["lease.json", "events.ndjson"].forEach((name) => rmSync(join(folder, name))),
  ],
])("the index has killed jobs that left %s, and they heal", (_, lose) => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const { project, folders, read } = createUnfinished();
  folders.forEach(lose);
  const store = createJobStore(project);
  expect(store.list().map(({ status }) => status)).not.toContain("failed");
  for (let passed = 0; passed <= MISSING_MS; passed += LONGEST_GAP_MS) {
    vi.advanceTimersByTime(LONGEST_GAP_MS);
    store.list();
  }
  const failed = store.list();
  expect(failed.map(({ status }) => status)).toEqual(failed.map(() => "failed"));
  expect(read()).toHaveLength(INDEX_LEAST);
  expect(createJobStore(project).list()).toEqual(failed);
  const lease = { owner: describeOwner(), renewal: 4, hasTurn: true };
  writeFileSync(join(folders[0]!, "lease.json"), JSON.stringify(lease));
  expect(store.list().at(-1)?.status).toBe("running");
  expect(createJobStore(project).list().at(-1)?.status).toBe("running");
});

test("silent owners' jobs are not in the index, and heal", () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const silent = { owner: { ...describeOwner(), pidNamespace: "pid:[1]" }, renewal: 3 };
  const { project, folders } = createUnfinished(silent);
  const store = createJobStore(project);
  const status = () => store.list().at(-1)?.status;
  expect(status()).toBe("running");
  for (let passed = 0; passed <= SILENCE_MS; passed += LONGEST_GAP_MS) {
    vi.advanceTimersByTime(LONGEST_GAP_MS);
    store.list();
  }
  expect(status()).toBe("failed");
  expect(readdirSync(join(project, ".kit"))).toEqual(["jobs"]);
  writeFileSync(join(folders[0]!, "lease.json"), JSON.stringify({ ...silent, renewal: 4 }));
  expect(status()).toBe("running");
});

test.each<[string, string, string]>([
  [
    "another process has its lease",
    "lease.json",
    JSON.stringify({ ...GONE, owner: describeOwner() }),
  ],
  ["its log says how it ended", "events.ndjson", '{"event":"training.cancelled","data":{}}\n'],
])("the list follows a killed job when %s, with the index and without", (_, name, content) => {
  const { project, folders } = createUnfinished();
  const [first = "", second = ""] = folders.map((folder) => join(folder, name));
  const statuses = (list: readonly { id: string; status: string }[]) =>
    [first, second].map((path) => list.find(({ id }) => path.includes(id))?.status);
  const expected = name === "lease.json" ? "running" : "cancelled";
  const store = createJobStore(project);
  expect(statuses(store.list())).toEqual(["failed", "failed"]);
  const other = createJobStore(project);
  writeFileSync(first, content);
  expect(statuses(store.list())).toEqual([expected, "failed"]);
  expect(statuses(other.list())).toEqual([expected, "failed"]);
  writeFileSync(second, content);
  expect(statuses(other.list())).toEqual([expected, expected]);
});

const CHANGES: Record<string, (folder: string) => void> = {
  "its log grows by another end": (folder) =>
    appendFileSync(join(folder, "events.ndjson"), `${JSON.stringify(FAILED)}\n`),
  "its log is cut": (folder) => writeFileSync(join(folder, "events.ndjson"), ""),
  "its log is gone": (folder) => rmSync(join(folder, "events.ndjson")),
  "its log is a link": (folder) => replaceByLink(join(folder, "events.ndjson")),
  "its folder is gone": (folder) => rmSync(folder, { recursive: true }),
  "its folder is a link": replaceByLink,
};

/** The file or folder is elsewhere, and a link in its place. */
function replaceByLink(path: string): void {
  const elsewhere = join(createProject(), "moved");
  renameSync(path, elsewhere);
  symlinkSync(elsewhere, path);
}

test("the index doesn't count for a job whose log or folder has changed", () => {
  const { path, folders, before, list } = createListed();
  const index = readFileSync(path);
  let last = before;
  for (const [n, [name, change]] of Object.entries(CHANGES).entries()) {
    change(folders[n]!);
    const withIndex = list();
    rmSync(path);
    expect(withIndex, name).toEqual(list());
    expect(withIndex, name).not.toEqual(last);
    last = withIndex;
    writeFileSync(path, index);
  }
});

const ELSE: Record<string, (path: string) => void> = {
  missing: (path) => rmSync(path),
  empty: (path) => writeFileSync(path, ""),
  torn: (path) => writeFileSync(path, readFileSync(path).subarray(0, -100)),
  "no list": (path) => writeFileSync(path, '{"jobs":[]}'),
  "a list of something else": (path) =>
    writeFileSync(path, '[null,7,"x",[],{},{"id":1},{"id":"20260101-000000-000-0007"}]'),
  "a link": replaceByLink,
  "a pipe": (path) => {
    rmSync(path);
    execFileSync("mkfifo", [path]);
  },
};

test("an invalid index is not used, and is rebuilt", () => {
  const { path, before, list, read } = createListed();
  const index = read();
  for (const [name, change] of Object.entries(ELSE)) {
    change(path);
    expect(list(), name).toEqual(before);
    expect(read(), name).toEqual(index);
  }
});

test("entries of other or unfinished jobs are ignored, and so are an entry's extra fields", () => {
  const { path, before, list, read } = createListed();
  const [first, second, ...others] = read().map((entry) => ({ ...entry, secret: "leaks" }));
  const foreign = { ...first, id: "20270101-000000-000-zzzz" };
  const broken = [
    { ...first, status: "running" },
    { ...second, name: 7 },
  ];
  writeFileSync(path, JSON.stringify([foreign, ...broken, ...others]));
  expect(list()).toEqual(before);
});

test("the list is the same when the index can't be written", () => {
  const { project, path, before, list } = createListed();
  rmSync(path);
  mkdirSync(join(path, "in the way"), { recursive: true });
  expect(list()).toEqual(before);
  expect(readdirSync(join(project, ".kit")).sort()).toEqual(["jobs", "jobs-index.json"]);
});
