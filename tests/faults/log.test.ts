import { rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { waitForTurn } from "../../jobs/queue.ts";
import { OWNER_GONE } from "../../jobs/status.ts";
import { createJobStore } from "../../jobs/store.ts";
import type { JobEvent } from "../../protocol/event.ts";
import type { JobsResponse } from "../../protocol/http.ts";
import { runJob } from "../../sdk/run.ts";
import { followLog } from "../followLog.ts";
import { fillDisk, makeReadOnly, mountDisk } from "../disk.ts";
import { COMPLETED, CONFIG, STARTED, appendRaw, createJob, logOf, logged } from "../jobs.ts";
import { ENDLESS, createTinyProject, runKit, startKit, tinySource } from "../kit.ts";
import { spawnModule } from "../process.ts";
import { createProject } from "../project.ts";
import { errorOf, parseFrames, readBody, startServer } from "../uiServer.ts";
import { createHarm } from "./harm.ts";
import { createRandom } from "./random.ts";
import { LONGER } from "./table.ts";

/** Runs a job as the SDK does, with an engine that only talks, and prints what a callback sees. */
const OWNER = `
const [{ createJobStore }, { runJob }, { writeSync }] = await Promise.all([
  dist("jobs/store.js"), dist("sdk/run.js"), import("node:fs"),
]);
const [project, config] = process.argv.slice(1);
const job = createJobStore(project).create("killed", JSON.parse(config));
writeSync(1, job.job.id + "\\n");
await runJob({
  job,
  config: JSON.parse(config),
  turn: () => Promise.resolve(),
  cancel: new AbortController().signal,
  failure: new AbortController(),
  onEvent() {},
  callbacks: { onLog: ({ step }) => void writeSync(1, step + "\\n") },
  engine: {
    load: () => Promise.reject(new Error("unused")),
    async train({ onEvent }) {
      for (let step = 1; ; step++) {
        const epoch = "x".repeat(step % 7 === 0 ? 60_000 : step % 100);
        onEvent({ event: "training.log", data: { step, loss: 1, epoch } });
        await new Promise(setImmediate);
      }
    },
  },
});`;

const LANES = 4;
const MOST_LINES = 60;
const BOOT_MS = 150;

test(
  "an owner that is killed at any instant has logged all that a callback had seen",
  async () => {
    const harm = createHarm("owner killed at random instants, log read meanwhile");
    const random = createRandom();
    const kills = Array.from({ length: 200 * LONGER }, (_, n) => n).values();
    const lane = async () => {
      const project = createProject();
      const store = createJobStore(project);
      for (const n of kills) {
        const owner = spawnModule(OWNER, [project, JSON.stringify(CONFIG)]);
        if (n % 10 === 0) {
          // While it starts, creates its job, or has just begun.
          await delay(random() * BOOT_MS);
          await owner.kill();
        }
        const id = await owner.line();
        if (id === "undefined") {
          harm.status(
            store.list().every(({ status }) => status === "failed"),
            true,
          );
          continue;
        }
        const ended = () => store.isAbandoned(id);
        const reading = collectSteps(store.logPath(id), ended);
        const seen: number[] = [];
        const most = random() * MOST_LINES;
        while (seen.length < most) {
          const line = await owner.line();
          if (line === "undefined") break;
          seen.push(Number(line));
        }
        await owner.kill();
        for (let line = await owner.line(); line !== "undefined"; line = await owner.line()) {
          seen.push(Number(line));
        }
        const steps = await reading;
        harm.events(steps, seen);
        harm.status(store.get(id), {
          job: expect.objectContaining({ status: "failed" }),
          error: OWNER_GONE,
        });
        // Whole and in order: a torn record would leave a gap, or not be one of these.
        harm.also(
          steps,
          steps.map((_, index) => index + 1),
        );
      }
      const next = createJob(project, "next");
      await waitForTurn(store, next.job.id, AbortSignal.timeout(10_000));
      next.append(STARTED);
      next.append(COMPLETED);
      harm.also(store.get(next.job.id)?.job.status, "completed");
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    expect(harm.row.times).toBe(200 * LONGER);
    harm.expectNone();
  },
  60_000 * LONGER,
);

async function collectSteps(path: string, ended: () => boolean): Promise<number[]> {
  const steps: number[] = [];
  for await (const records of followLog(path, { ended })) {
    for (const { record } of records) {
      const { step, epoch } = record.data as { step: number; epoch: string };
      const isWhole = epoch.length === (step % 7 === 0 ? 60_000 : step % 100);
      steps.push(isWhole ? step : -1);
    }
  }
  return steps;
}

test(
  "a real training that is killed has logged all that its callbacks had seen",
  async () => {
    const harm = createHarm("kit start killed while it trains");
    const random = createRandom();
    const before = `import { writeSync } from "node:fs";`;
    const options = `${ENDLESS} loggingSteps: 1, callbacks: { onLog: ({ step }) => void writeSync(1, "seen " + step + "\\n") },`;
    const project = createTinyProject(tinySource({ before, options }));
    for (let n = 0; n < 2 * LONGER; n++) {
      const { child, printed, ended } = startKit(project, ["start"]);
      await printed(new RegExp(`seen ${1 + Math.floor(random() * 40)}\n`));
      child.kill("SIGKILL");
      const { stdout } = await ended;
      const [, id = ""] = /^job (\S+)/.exec(stdout) ?? [];
      const store = createJobStore(project);
      const steps: number[] = [];
      for await (const records of followLog(store.logPath(id), { ended: () => true })) {
        for (const { record } of records) {
          if (record.event === "training.log") steps.push((record.data as { step: number }).step);
        }
      }
      harm.events(
        steps,
        [...stdout.matchAll(/^seen (\d+)$/gm)].map(([, step]) => Number(step)),
      );
      harm.status(store.get(id)?.job.status, "failed");
    }
    harm.expectNone();
  },
  60_000 * LONGER,
);

async function listJobs(url: string): Promise<Record<string, string>> {
  const response = await fetch(`${url}api/jobs`);
  expect(response.status).toBe(200);
  const { jobs } = (await response.json()) as JobsResponse;
  return Object.fromEntries(jobs.map(({ id, status }) => [id, status]));
}

async function streamOf(url: string, id: string): Promise<string[]> {
  const body = readBody(await fetch(`${url}api/jobs/${id}/events`));
  return parseFrames(String(await body.all())).map(({ event }) => String(event));
}

const LONG = "x".repeat(1_000_000);
const END: JobEvent[] = [logged(2), COMPLETED];

/** What is done to the log between its first two events and its last two, and what is left. */
const DAMAGES: [string, (job: ReturnType<typeof createJob>) => void, string[]][] = [
  ["a junk line", (job) => appendRaw(job, "junk\n\0\0\n[]\n{}\n"), []],
  ["a line of 1 MB that is none", (job) => appendRaw(job, `${LONG}\n`), []],
  [
    "a record of 1 MB",
    (job) => appendRaw(job, `{"event":"training.log","data":{"step":1,"loss":1,"x":"${LONG}"}}\n`),
    ["training.log"],
  ],
  ["a torn line, closed off", (job) => appendRaw(job, `{"event":"training.l\n`), []],
];

test("a damaged log loses nothing but what was damaged, and no other job", async () => {
  const harm = createHarm("log or job.json torn, junk, 1 MB, empty, cut off, deleted");
  const server = await startServer();
  const { project } = server;
  const good = createJob(project, "good", [STARTED, COMPLETED]);
  const begun = ["training.started", "training.log"];
  for (const [, damage, left] of DAMAGES) {
    const job = createJob(project, "damaged", [STARTED, logged(1)]);
    damage(job);
    harm.status((await listJobs(server.url))[job.job.id], "running");
    END.forEach(job.append);
    harm.also((await listJobs(server.url))[job.job.id], "completed");
    harm.also(await streamOf(server.url, job.job.id), [
      ...[...begun, ...left],
      ...["training.log", "training.completed", "end"],
    ]);
  }
  const torn = createJob(project, "torn", [STARTED, logged(1), COMPLETED]);
  appendRaw(torn, '{"event":"training.failed","da');
  harm.status((await listJobs(server.url))[torn.job.id], "completed");
  harm.also(await streamOf(server.url, torn.job.id), [...begun, "training.completed", "end"]);

  const empty = createJob(project, "empty");
  harm.status((await listJobs(server.url))[empty.job.id], "queued");

  const cut = createJob(project, "cut", [STARTED]);
  truncateSync(join(cut.directory, "job.json"), 20);
  harm.status((await listJobs(server.url))[cut.job.id], undefined);
  harm.also((await fetch(`${server.url}api/jobs/${cut.job.id}/events`)).status, 404);

  const deleted = createJob(project, "deleted", [STARTED]);
  const body = readBody(await fetch(`${server.url}api/jobs/${deleted.job.id}/events`));
  await body.until((text) => text.includes("training.started"));
  rmSync(deleted.directory, { recursive: true });
  const frames = parseFrames(String(await body.all()));
  harm.status(frames.at(-1)?.event, "end");
  harm.also((await listJobs(server.url))[deleted.job.id], undefined);
  expect(() => deleted.append(logged(1))).toThrow(/was deleted while its job went on/);

  harm.also((await listJobs(server.url))[good.job.id], "completed");
  harm.expectNone();
});

test("a job whose folder is deleted ends, and says so", async () => {
  const harm = createHarm("job's folder deleted while it trains");
  const project = createTinyProject(tinySource({ options: ENDLESS }));
  const { printed, ended } = startKit(project, ["start"]);
  await printed(/step +50\//);
  rmSync(join(project, ".kit/jobs"), { recursive: true });
  const { code, stderr } = await ended;
  harm.status(code, 1);
  harm.also(stderr, expect.stringMatching(/^kit: \S+events\.ndjson was deleted while .*\n$/));
  harm.also(createJobStore(project).list(), []);
  harm.expectNone();
});

/** A project whose `.kit` is a small disk of its own, with a bundle and a finished job. */
async function createProjectOnDisk(source: string) {
  const project = createTinyProject(source);
  const kit = join(project, ".kit");
  mountDisk(kit, 1024);
  await runKit(project, ["build"]);
  const { job, close } = createJob(project, "good", [STARTED, COMPLETED]);
  // A disk with a file that is open to be written does not become read-only.
  close();
  return { project, kit, good: job.id };
}

const NO_ROOM = "ENOSPC: no space left on device";
const READ_ONLY = "EROFS: read-only file system";

test.each([
  ["full", fillDisk, NO_ROOM],
  ["read-only", makeReadOnly, READ_ONLY],
] as const)("where .kit is %s, that is what is said, and the jobs are listed", async (...args) => {
  const [name, breakDisk, cause] = args;
  const harm = createHarm(`.kit on a ${name} disk`);
  const { project, kit, good } = await createProjectOnDisk(tinySource());
  breakDisk(kit);
  const server = await startServer({ project });
  for (const command of ["start", "build"]) {
    const { code, stdout, stderr } = await runKit(project, [command]);
    harm.status({ code, stdout }, { code: 1, stdout: "" });
    const sentence = `^kit: Cannot (create a job in|write) \\S+: ${cause}.*, or free disk space\\.\n$`;
    harm.also(stderr, expect.stringMatching(new RegExp(sentence)));
  }
  const response = await fetch(`${server.url}api/train`, { method: "POST" });
  harm.also(response.ok, false);
  harm.also(await errorOf(response), expect.stringContaining(cause));
  harm.also(await listJobs(server.url), { [good]: "completed" });
  harm.also(await streamOf(server.url, good), ["training.started", "training.completed", "end"]);
  harm.expectNone();
});

test("a disk that becomes full while a job trains fails it, and says so once", async () => {
  const harm = createHarm(".kit's disk becomes full while training");
  const options = `${ENDLESS} loggingSteps: 1,`;
  const { project, kit, good } = await createProjectOnDisk(tinySource({ options }));
  const { printed, ended } = startKit(project, ["start"]);
  await printed(/step +1\//);
  fillDisk(kit);
  const { code, stderr } = await ended;
  harm.status(code, 1);
  harm.also(
    stderr,
    expect.stringMatching(/^kit: Cannot write .*(no space left|disk is full).* [Ff]ree .*\.\n$/),
  );
  const jobs = createJobStore(project).list();
  harm.also(jobs.map(({ status }) => status).sort(), ["completed", "failed"]);
  harm.also(createJobStore(project).get(good)?.job.status, "completed");
  harm.expectNone();
});

test("a loss that is no number and steps that go back are logged and streamed as they come", async () => {
  const harm = createHarm("loss NaN, ±Infinity, steps that go back");
  const server = await startServer();
  const job = createJob(server.project, "odd");
  const logs = [1, NaN, Infinity, -Infinity, 0.5].map((loss, n) => ({
    step: [5, 6, 3, 1, 2][n]!,
    loss,
  }));
  const seen: number[] = [];
  const { job: ended } = await runJob({
    job,
    config: CONFIG,
    turn: () => Promise.resolve(),
    cancel: new AbortController().signal,
    failure: new AbortController(),
    onEvent() {},
    callbacks: { onLog: ({ step, loss }) => void seen.push(step, loss) },
    engine: {
      load: () => Promise.reject(new Error("unused")),
      train({ onEvent }) {
        onEvent(STARTED as never);
        for (const data of logs) onEvent({ event: "training.log", data });
        return Promise.resolve([]);
      },
    },
  });
  harm.status(ended.status, "completed");
  const nulled = logs.map(({ step, loss }) => ({
    step,
    loss: Number.isFinite(loss) ? loss : null,
  }));
  const body = readBody(await fetch(`${server.url}api/jobs/${job.job.id}/events`));
  const frames = parseFrames(String(await body.all())).filter(
    ({ event }) => event === "training.log",
  );
  harm.also(
    frames.map(({ data }) => JSON.parse(data ?? "") as unknown),
    nulled,
  );
  harm.events(
    frames.map(({ data }) => data),
    nulled.map((data) => JSON.stringify(data)),
  );
  harm.also(seen.length, 2 * logs.length);

  const project = createTinyProject(tinySource({ options: "learningRate: 1e30, warmupSteps: 0," }));
  const { code, stdout } = await runKit(project, ["start"]);
  harm.status(code, 0);
  harm.also(stdout, expect.stringMatching(/\nstep 4\/4 {2}loss n\/a .*\n/));
  harm.also(createJobStore(project).list()[0]?.status, "completed");
  harm.expectNone();
});

test("what is left of an unfinished job.json hides no other job", () => {
  const project = createProject();
  const { job } = createJob(project, "good", [STARTED, COMPLETED]);
  const broken = createJob(project, "broken");
  writeFileSync(logOf(broken), "");
  rmSync(join(broken.directory, "job.json"));
  expect(createJobStore(project).list()).toEqual([{ ...job, status: "completed" }]);
});
