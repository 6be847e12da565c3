import { readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { waitForTurn } from "../../jobs/queue.ts";
import { OWNER_GONE, OWNER_SILENT } from "../../jobs/status.ts";
import { createJobStore } from "../../jobs/store.ts";
import type { JobEvent } from "../../protocol/event.ts";
import {
  COMPLETED,
  STARTED,
  createForeignJob,
  createJob,
  logged,
  moveToOtherContainer,
} from "../jobs.ts";
import { CLI, createTinyProject, pacedSource, startKit, tinySource } from "../kit.ts";
import { isRunning, spawnProcess } from "../process.ts";
import { createProject } from "../project.ts";
import { parseFrames, readBody, startServer } from "../uiServer.ts";
import { listJobs } from "./answers.ts";
import { createHarm } from "./harm.ts";
import { LONGER, repeated } from "./table.ts";

const SILENCE_MS = 60_000;
const THREE_MINUTES_MS = 180_000;

/** The reader's clock: turned by the test, but in the long version time really passes. */
function createClock(): { pass: (ms: number, check: () => unknown) => Promise<void> } {
  const LOOK_MS = 5_000;
  if (LONGER === 1) {
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
  }
  const wait = async (ms: number) => (LONGER > 1 ? delay(ms) : void vi.advanceTimersByTime(ms));
  return {
    async pass(ms, check) {
      for (let left = ms; left > 0; left -= LOOK_MS) {
        await wait(Math.min(left, LOOK_MS));
        // Only time that a reader sees counts.
        await check();
      }
    },
  };
}

function renewalOf(directory: string): number {
  const lease = readFileSync(join(directory, "lease.json"), "utf8");
  return (JSON.parse(lease) as { renewal: number }).renewal;
}

async function nextRenewal(directory: string): Promise<void> {
  const before = renewalOf(directory);
  const options = { interval: 20 };
  await expect.poll(() => renewalOf(directory), options).toBeGreaterThan(before);
}

/** Everything about a folder's files that changes when somebody writes one of them. */
function snapshot(directory: string) {
  return readdirSync(directory, { recursive: true, encoding: "utf8" }).map((name) => {
    const path = join(directory, name);
    const { ino, size, mtimeMs } = statSync(path);
    return { name, ino, size, mtimeMs, content: statSync(path).isFile() && readFileSync(path) };
  });
}

test("a job whose owner is killed is failed at the next check, with its reason", async () => {
  const harm = createHarm("Owner killed (SIGKILL)");
  const server = await startServer();
  const histories = [[], [STARTED], [STARTED, logged(1)], [STARTED, logged(1), logged(2)]];
  const all = Array.from({ length: repeated(5) }, () => histories).flat();
  for (let at = 0; at < all.length; at += 4) {
    await Promise.all(
      all.slice(at, at + 4).map(async (events) => {
        const { id, owner } = await createForeignJob(server.project, events);
        const body = readBody(await fetch(`${server.url}api/jobs/${id}/events`));
        harm.also((await listJobs(server.url))[id], events.length > 0 ? "running" : "queued");
        await owner.kill();
        harm.also(createJobStore(server.project).get(id)?.error, OWNER_GONE);
        const frames = parseFrames(String(await body.all()));
        const names = frames.map(({ event }) => event);
        harm.events(
          names.map((name, n) => `${name} ${n}`),
          [...events.map(({ event }) => event), "training.failed", "end"].map(
            (e, n) => `${e} ${n}`,
          ),
        );
        harm.also(frames.at(-2)?.data, JSON.stringify({ error: OWNER_GONE }));
        // The server's answers agree within 100 ms, so by the end of the stream.
        harm.status((await listJobs(server.url))[id], "failed");
      }),
    );
  }
  for (let n = 0; n < LONGER; n++) {
    const project = createTinyProject(pacedSource());
    const { child, printed, ended } = startKit(project, ["start"]);
    await printed(/step +1\//);
    child.kill("SIGKILL");
    await ended;
    harm.status(createJobStore(project).list()[0]?.status, "failed");
  }
  harm.expectNone();
});

/** A real `kit start` in a pid namespace of its own, which is killed with its namespace. */
async function startInOtherNamespace(project: string) {
  const unshare = ["--pid", "--fork", "--kill-child", "--mount-proc"];
  const owner = spawnProcess("unshare", [...unshare, process.execPath, CLI, "start"], project);
  const [, id] = /^job (\S+) /.exec(await owner.line()) ?? [];
  if (!id) {
    throw new Error("This test makes a pid namespace by unshare: run it as root (CAP_SYS_ADMIN).");
  }
  await owner.line();
  return { id, owner };
}

test("a job in another pid namespace is alive while its lease is renewed, and failed 60 s after", async () => {
  const harm = createHarm("Owner in another pid namespace killed");
  const project = createTinyProject(pacedSource());
  const { id, owner } = await startInOtherNamespace(project);
  const directory = join(project, ".kit", "jobs", id);
  const { pass } = createClock();
  const store = createJobStore(project);
  const status = () => store.get(id)?.job.status;
  harm.also(status(), "running");
  for (let n = 0; n < 2; n++) {
    await pass(SILENCE_MS - 2_000, status);
    harm.also(status(), "running");
    await nextRenewal(directory);
    harm.also(status(), "running");
  }
  await owner.kill();
  // The end is not visible from here yet.
  harm.also(status(), "running");
  await pass(SILENCE_MS + 1, status);
  harm.status(status(), "failed");
  harm.also(store.get(id)?.error, OWNER_SILENT);
  harm.expectNone();
});

test("a job that is stopped for three minutes is running all the time, and nobody else wrote a byte", async () => {
  const harm = createHarm("Owner suspended for 3 minutes (SIGSTOP, SIGCONT)");
  const project = createTinyProject(pacedSource());
  const { child, printed, ended } = startKit(project, ["start"]);
  await printed(/step +50\//);
  const { pass } = createClock();
  const server = await startServer({ project });
  const [id = ""] = Object.keys(await listJobs(server.url));
  const directory = join(project, ".kit", "jobs", id);
  const body = readBody(await fetch(`${server.url}api/jobs/${id}/events`));
  await body.until((text) => text.includes("training.log"));
  child.kill("SIGSTOP");
  const state = () => readFileSync(`/proc/${child.pid}/stat`, "utf8").split(") ")[1]?.[0];
  await expect.poll(state).toBe("T");
  const store = createJobStore(project);
  const before = snapshot(directory);
  harm.also(store.get(id)?.job.status, "running");
  harm.also((await listJobs(server.url))[id], "running");
  await pass(THREE_MINUTES_MS, () => {
    store.get(id);
    return listJobs(server.url);
  });
  harm.status(store.get(id)?.job.status, "running");
  harm.also((await listJobs(server.url))[id], "running");
  harm.also(store.leaseOf(id), "held");
  harm.also(snapshot(directory), before);
  child.kill("SIGCONT");
  await nextRenewal(directory);
  child.kill("SIGINT");
  expect((await ended).code).toBe(130);
  harm.also((await listJobs(server.url))[id], "cancelled");
  const frames = parseFrames(String(await body.all()));
  const seen = frames.filter(({ event }) => event !== "end");
  const records = readFileSync(join(directory, "events.ndjson"), "utf8").split("\n");
  const written = records
    .filter((line) => line !== "" && !line.includes("training.cancelled"))
    .map((line) => JSON.parse(line) as JobEvent);
  harm.events(
    seen.map(({ event, data }) => `${event} ${data}`),
    written.map(({ event, data }) => `${event} ${JSON.stringify(data)}`),
  );
  harm.expectNone();
});

const FINAL: [JobEvent, string][] = [
  [COMPLETED, "completed"],
  [{ event: "training.failed", data: { error: "its own words" } }, "failed"],
  [{ event: "training.cancelled", data: { step: 1 } }, "cancelled"],
];

test("a last event outranks whatever became of its owner", async () => {
  const harm = createHarm("Owner or its lease lost right after the last event");
  const { pass } = createClock();
  const project = createProject();
  const check = (id: string, status: string) => {
    const found = createJobStore(project).get(id);
    harm.status(found?.job.status, status);
    harm.also(found?.error, status === "failed" ? "its own words" : undefined);
  };
  for (const [event, status] of FINAL) {
    const { id, owner } = await createForeignJob(project, [STARTED, event]);
    check(id, status);
    await owner.kill();
    check(id, status);
    for (const lease of ["", "{", "null", undefined]) {
      const path = join(project, ".kit", "jobs", id, "lease.json");
      if (lease === undefined) rmSync(path);
      else writeFileSync(path, lease);
      check(id, status);
    }
    const elsewhere = createJob(project, "elsewhere", [STARTED]);
    moveToOtherContainer(elsewhere);
    const store = createJobStore(project);
    const found = () => store.get(elsewhere.job.id)?.job.status;
    harm.also(found(), "running");
    if (LONGER === 1) {
      await pass(SILENCE_MS + 1, found);
      harm.also(found(), "failed");
    }
    const log = join(elsewhere.directory, "events.ndjson");
    writeFileSync(log, `${JSON.stringify({ ...event, time: "" })}\n`, { flag: "a" });
    harm.status(found(), status);
  }
  harm.expectNone();
});

test("a finished job's process that does not exit keeps it neither running nor in the way", async () => {
  const harm = createHarm("Process of a finished job does not exit");
  const project = createProject();
  for (const [event, status] of FINAL) {
    const { id, owner } = await createForeignJob(project, [STARTED, event]);
    const store = createJobStore(project);
    harm.status(store.get(id)?.job.status, status);
    harm.also(store.hasEnded(id), true);
    harm.also(isRunning(owner.pid), true);
  }
  const store = createJobStore(project);
  const next = createJob(project, "next");
  await waitForTurn(store, next, AbortSignal.timeout(30_000));
  const hanging = `callbacks: {
    onStarted() { throw new Error("no"); },
    onFailed: () => new Promise(() => setInterval(() => {}, 1_000)),
  },`;
  const real = createTinyProject(tinySource({ options: hanging }));
  const { child, printed } = startKit(real, ["start"]);
  await printed(/failed: no\n/);
  harm.status(createJobStore(real).list()[0]?.status, "failed");
  harm.also(isRunning(child.pid ?? 0), true);
  harm.expectNone();
});
