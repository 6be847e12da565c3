import { cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { createJobId } from "../../jobs/id.ts";
import { createJobStore } from "../../jobs/store.ts";
import type { Job } from "../../protocol/job.ts";
import { createRandom } from "../faults/random.ts";
import { COMPLETED, STARTED, createForeignJob, createJob, fillWithJobs } from "../jobs.ts";
import { createProject } from "../project.ts";
import { type TestServer, parseFrames, readBody, startServer } from "../uiServer.ts";

const CHANGES = 90;
const BURST = 1_000;

/** Polls as the page does, with the last ETag. */
function createPoll({ url }: TestServer) {
  let jobs: Job[] = [];
  let tag = "";
  return async () => {
    const response = await fetch(`${url}api/jobs`, { headers: { "If-None-Match": tag } });
    const body = await response.text();
    if (response.status === 304) return jobs;
    expect(response.headers.get("content-length")).toBe(String(Buffer.byteLength(body)));
    tag = response.headers.get("etag") ?? "";
    ({ jobs } = JSON.parse(body) as { jobs: Job[] });
    return jobs;
  };
}

test("the list matches a fresh read after any change to the folder of jobs", async () => {
  const project = createProject();
  const poll = createPoll(await startServer({ project }));
  const root = join(project, ".kit", "jobs");
  const elsewhere = createProject();
  const random = createRandom();
  const below = (count: number) => Math.floor(random() * count);
  const folders: string[] = [];
  const away: string[] = [];
  const take = (from: string[]) => from.splice(below(from.length), 1)[0];
  const changes: (() => unknown)[] = [
    () => folders.push(createJob(project, "näme", [STARTED]).directory),
    () => folders.push(createJob(project, "done", [STARTED, COMPLETED]).directory),
    () => {
      const folder = take(folders);
      if (folder) rmSync(folder, { recursive: true });
    },
    () => {
      const folder = take(folders);
      if (!folder) return;
      const renamed = join(root, createJobId());
      renameSync(folder, renamed);
      folders.push(renamed);
    },
    () => {
      const folder = take(folders);
      if (!folder) return;
      away.push(folder);
      renameSync(folder, folder.replace(root, elsewhere));
    },
    () => {
      const folder = take(away);
      if (!folder) return;
      mkdirSync(root, { recursive: true });
      renameSync(folder.replace(root, elsewhere), folder);
      folders.push(folder);
    },
    () => {
      mkdirSync(root, { recursive: true });
      writeFileSync(join(root, createJobId()), "no folder");
    },
    () => mkdirSync(join(root, `folder ${random()}`), { recursive: true }),
  ];
  const wholes = [
    () => rmSync(root, { recursive: true, force: true }),
    () => {
      mkdirSync(root, { recursive: true });
      const copy = createProject();
      cpSync(root, copy, { recursive: true });
      rmSync(root, { recursive: true });
      renameSync(copy, root);
    },
  ];
  for (let n = 0; n < CHANGES; n++) {
    for (let many = below(4); many > 0; many--) changes[below(changes.length)]?.();
    if (n % 30 === 29) {
      const isCopied = below(2) === 1;
      wholes[Number(isCopied)]?.();
      if (!isCopied) folders.length = 0;
    }
    expect(await poll()).toEqual(createJobStore(project).list());
  }
});

test("a burst of jobs is in the next list, also when it goes", async () => {
  const server = await startServer();
  const { project } = server;
  const poll = createPoll(server);
  const { job } = createJob(project, "first", [STARTED, COMPLETED]);
  const known = { ...job, status: "completed" };
  expect(await poll()).toEqual([known]);
  const burst = fillWithJobs(project, BURST);
  const all = await poll();
  expect(all).toHaveLength(BURST + 1);
  expect(all).toEqual(createJobStore(project).list());
  for (const folder of burst.slice(0, 50)) rmSync(folder, { recursive: true });
  expect(await poll()).toEqual(createJobStore(project).list());
  for (const folder of burst.slice(50)) rmSync(folder, { recursive: true });
  expect(await poll()).toEqual([known]);
  rmSync(dirname(burst[0] ?? ""), { recursive: true });
  expect(await poll()).toEqual([]);
});

test("a list and a stream share an owner's state for 100 ms, but read the log afresh", async () => {
  const server = await startServer();
  const poll = createPoll(server);
  const killed = await createForeignJob(server.project, [STARTED]);
  const ended = createJob(server.project, "ended", [STARTED]);
  const statusOf = async (id: string) => (await poll()).find((job) => job.id === id)?.status;
  const clock = vi.spyOn(performance, "now").mockReturnValue(performance.now());
  onTestFinished(() => clock.mockRestore());
  expect(await statusOf(killed.id)).toBe("running");
  await killed.owner.kill();
  ended.append(COMPLETED);
  expect(await statusOf(ended.job.id)).toBe("completed");
  expect(await statusOf(killed.id)).toBe("running");
  const stream = readBody(await fetch(`${server.url}api/jobs/${killed.id}/events`));
  expect(parseFrames(await stream.until((text) => text.includes("started")))).toHaveLength(1);
  clock.mockReturnValue(performance.now() + 99);
  expect(await statusOf(killed.id)).toBe("running");
  clock.mockReturnValue(performance.now() + 1);
  expect(await statusOf(killed.id)).toBe("failed");
  const frames = parseFrames(String(await stream.all()));
  expect(frames.map(({ event }) => event)).toEqual(["training.started", "training.failed", "end"]);
});
