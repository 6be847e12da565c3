import { readdirSync, readlinkSync, statSync, truncateSync } from "node:fs";
import { expect, onTestFinished, test, vi } from "vitest";
import { MAX_GAP_MS } from "../../disk/lease.ts";
import { SILENCE_MS } from "../../jobs/ownerWatch.ts";
import { takeJob } from "../../jobs/remote/takeJob.ts";
import { OWNER_SILENT } from "../../jobs/status.ts";
import type { JobEvent } from "../../protocol/event.ts";
import type { Job } from "../../protocol/job.ts";
import {
  COMPLETED,
  STARTED,
  appendRaw,
  createForeignJob,
  createJob,
  leaveJob,
  logOf,
  logged,
  moveToOtherContainer,
  placeJob,
  recordEnds,
} from "../jobs.ts";
import { createProject } from "../project.ts";
import { type Frame, errorOf, parseFrames, readBody, startServer } from "../uiServer.ts";

const SAVED: JobEvent = {
  event: "checkpoint.saved",
  data: { step: 2, kind: "model", path: "artifacts/step-2" },
};
const CANCELLED: JobEvent = { event: "training.cancelled", data: { step: 2 } };
const FINISHED = [STARTED, logged(1), logged(2, NaN), SAVED, COMPLETED];

/** A server, one job, and a way to ask for its events. */
async function startWith(events: JobEvent[]) {
  const server = await startServer();
  const job = createJob(server.project, "job", events);
  const ask = (lastEventId?: string) =>
    fetch(`${server.url}api/jobs/${job.job.id}/events`, {
      headers: lastEventId === undefined ? {} : { "Last-Event-ID": lastEventId },
    });
  return {
    ...server,
    job,
    ask,
    frames: async (lastEventId?: string) => parseFrames(await (await ask(lastEventId)).text()),
  };
}

function namesOf(frames: Frame[]): (string | undefined)[] {
  return frames.map(({ event }) => event);
}

/** Reads frames from a stream that goes on, until there are this many. */
async function frameCount(body: ReturnType<typeof readBody>, count: number): Promise<Frame[]> {
  return parseFrames(await body.until((text) => parseFrames(text).length >= count));
}

test("a line of 600 MB is skipped, and the events after it are sent", async () => {
  const { frames, job } = await startWith([STARTED, logged(1)]);
  truncateSync(logOf(job), 6e8);
  appendRaw(job, "\n");
  job.append(COMPLETED);
  const sent = await frames();
  expect(namesOf(sent)).toEqual([
    ...["training.started", "training.log", "training.completed", "end"],
  ]);
  expect(sent.at(-1)?.id).toBe(String(statSync(logOf(job)).size));
});

test("a finished job's events are frames with id, event and data, and end closes them", async () => {
  const { frames, job } = await startWith(FINISHED);
  const ends = recordEnds(logOf(job));
  expect(await frames()).toEqual([
    ...FINISHED.map(({ event, data }, n) => ({
      id: String(ends[n]),
      event,
      data: JSON.stringify(data),
    })),
    { id: String(ends.at(-1)), event: "end", data: "{}" },
  ]);
});

test("a cancelled job's stream ends without that event, and is not resumed", async () => {
  const { frames, ask } = await startWith([STARTED, logged(1), CANCELLED]);
  const all = await frames();
  expect(namesOf(all)).toEqual(["training.started", "training.log", "end"]);
  expect((await ask(all.at(-1)?.id)).status).toBe(204);
});

test("the head of the stream keeps proxies and caches off, and is there before any event", async () => {
  const { ask } = await startWith([]);
  const response = await ask();
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  expect(response.headers.get("cache-control")).toBe("no-cache, no-transform");
  expect(response.headers.get("x-accel-buffering")).toBe("no");
  const body = readBody(response);
  expect(await body.until((text) => text.includes("\n\n"))).toBe("retry: 2000\n\n");
});

test("events arrive as they are written, and end after the last", async () => {
  const { ask, job } = await startWith([]);
  const body = readBody(await ask());
  const events = [STARTED, logged(1), SAVED, logged(2)];
  for (const [n, event] of events.entries()) {
    job.append(event);
    const frames = await frameCount(body, n + 1);
    expect(frames.at(-1)).toMatchObject({ event: event.event, data: JSON.stringify(event.data) });
  }
  job.append(COMPLETED);
  const text = String(await body.all());
  expect(namesOf(parseFrames(text)).slice(4)).toEqual(["training.completed", "end"]);
});

test("a live job that was read to its end continues with new events", async () => {
  const { ask, job } = await startWith([STARTED, logged(1)]);
  const [, last] = await frameCount(readBody(await ask()), 2);
  const body = readBody(await ask(last?.id));
  job.append(logged(2));
  expect(await frameCount(body, 1)).toMatchObject([{ data: '{"step":2,"loss":0.5}' }]);
});

test("a finished job that was read to its end stops the browser from asking again", async () => {
  const { frames, ask } = await startWith(FINISHED);
  const last = (await frames()).at(-2);
  const response = await ask(last?.id);
  expect(last?.event).toBe("training.completed");
  expect(response.status).toBe(204);
  expect(await response.text()).toBe("");
});

test.each(["20260101-000000-000-aaaa", "nothing", "..", "%2e%2e", "job", "a".repeat(5_000)])(
  "a job that does not exist is 404 with a sentence: %s",
  async (id) => {
    const { url } = await startServer({
      project: createProject({ "job/job.json": '{"name":"x"}' }),
    });
    const response = await fetch(`${url}api/jobs/${id}/events`);
    expect(response.status).toBe(404);
    expect(await errorOf(response)).toMatch(/^There is no/);
  },
);

test("a job that was left long ago fails on the page, then ends", async () => {
  const { url, project } = await startServer();
  const { id, owner } = await createForeignJob(project, [STARTED]);
  await owner.kill();
  const frames = parseFrames(await (await fetch(`${url}api/jobs/${id}/events`)).text());
  expect(namesOf(frames)).toEqual(["training.started", "training.failed", "end"]);
});

test("a job of another container is followed", async () => {
  const { ask, job } = await startWith([STARTED]);
  moveToOtherContainer(job);
  const body = readBody(await ask());
  await frameCount(body, 1);
  appendRaw(job, `${JSON.stringify({ ...COMPLETED, time: "t" })}\n`);
  expect(namesOf(parseFrames(String(await body.all())))).toEqual([
    "training.started",
    "training.completed",
    "end",
  ]);
});

const realNow = performance.now.bind(performance);

/** Sets this process's clock ahead. */
function setClock(ms: number): void {
  const clock = vi.spyOn(performance, "now").mockImplementation(() => realNow() + ms);
  onTestFinished(() => clock.mockRestore());
}

/** Lets leases stand still for over a minute while a server checks them now and then. */
async function passMinute(url: string): Promise<void> {
  for (let passed = 0; passed <= SILENCE_MS; passed += MAX_GAP_MS / 2) {
    setClock(passed);
    await (await fetch(`${url}api/jobs`)).text();
  }
}

test("an owner's silence is reported after its last event, and so is its return", async () => {
  const { ask, job, url } = await startWith([STARTED, logged(1)]);
  const { renew } = moveToOtherContainer(job);
  const status = async () => {
    const { jobs } = (await (await fetch(`${url}api/jobs`)).json()) as { jobs: Job[] };
    return jobs[0]?.status;
  };
  const early = readBody(await ask());
  await frameCount(early, 2);
  await passMinute(url);
  const silent = { event: "training.failed", data: JSON.stringify({ error: OWNER_SILENT }) };
  expect((await frameCount(early, 3))[2]).toEqual(silent);
  expect(await status()).toBe("failed");
  // A new client sees it too, and last.
  const late = readBody(await ask());
  expect((await frameCount(late, 3))[2]).toEqual(silent);

  renew();
  expect((await frameCount(early, 4))[3]).toEqual({ event: "owner.back", data: "{}" });
  await frameCount(late, 4);
  expect(await status()).toBe("running");
  appendRaw(job, `${JSON.stringify({ ...logged(2), time: "t" })}\n`);
  appendRaw(job, `${JSON.stringify({ ...COMPLETED, time: "t" })}\n`);
  const all = namesOf(parseFrames(String(await early.all())));
  expect(all.slice(3)).toEqual(["owner.back", "training.log", "training.completed", "end"]);
  expect(namesOf(parseFrames(String(await late.all())))).toEqual(all);
});

test("a job that runs elsewhere goes on without an owner: neither a failure nor an end", async () => {
  const { ask, job, project, url } = await startWith([STARTED]);
  placeJob(job);
  const body = readBody(await ask());
  await frameCount(body, 1);
  leaveJob(job);
  expect((await frameCount(body, 2))[1]).toEqual({ event: "owner.away", data: "{}" });
  const list = async () => {
    const { jobs } = (await (await fetch(`${url}api/jobs`)).json()) as { jobs: Job[] };
    return jobs[0];
  };
  const lastHeardAt = statSync(logOf(job)).mtime.toISOString();
  expect(await list()).toEqual({ ...job.job, status: "running", lastHeardAt });
  const follower = await takeJob(project, job.job.id);
  expect((await frameCount(body, 3))[2]).toEqual({ event: "owner.back", data: "{}" });
  expect(await list()).toEqual({ ...job.job, status: "running" });
  follower.append(COMPLETED);
  const all = namesOf(parseFrames(String(await body.all())));
  expect(all.slice(3)).toEqual(["training.completed", "end"]);
});

test("an owner's return is reported before the events that follow it", async () => {
  const { ask, job, url } = await startWith([STARTED]);
  const { renew } = moveToOtherContainer(job);
  const body = readBody(await ask());
  await frameCount(body, 1);
  await passMinute(url);
  await frameCount(body, 2);
  renew();
  // The owner's cached state has expired.
  setClock(SILENCE_MS + 1_000);
  appendRaw(job, `${JSON.stringify({ ...logged(1), time: "t" })}\n`);
  expect(namesOf(await frameCount(body, 4)).slice(2)).toEqual(["owner.back", "training.log"]);
});

test("a silent job that completes after all reports no return", async () => {
  const { ask, job, url } = await startWith([STARTED]);
  moveToOtherContainer(job);
  const body = readBody(await ask());
  await frameCount(body, 1);
  await passMinute(url);
  await frameCount(body, 2);
  // The owner's state stays cached, however long the next lines take.
  vi.spyOn(performance, "now").mockReturnValue(performance.now());
  appendRaw(job, `${JSON.stringify({ ...COMPLETED, time: "t" })}\n`);
  expect(namesOf(parseFrames(String(await body.all())))).toEqual([
    "training.started",
    "training.failed",
    "training.completed",
    "end",
  ]);
});

test("a slow reader gets everything, once and in order", async () => {
  const { ask, job } = await startWith([]);
  const response = await ask();
  const steps = Array.from({ length: 400 }, (_, n) => n + 1);
  const text = "x".repeat(30_000);
  for (const step of steps) {
    const data = { step, loss: step, text };
    job.append({ event: "training.log", data });
  }
  job.append(COMPLETED);
  const other = await ask();
  expect((await other.text()).length).toBeGreaterThan(12_000_000);
  const frames = parseFrames(await response.text());
  const seen = frames
    .slice(0, -2)
    .map(({ data }) => (JSON.parse(data ?? "") as { step: number }).step);
  expect(seen).toEqual(steps);
});

test("a reader that goes away leaves no file open", async () => {
  const { ask, job } = await startWith([STARTED]);
  const openFiles = () =>
    readdirSync("/proc/self/fd").filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`) === logOf(job);
      } catch {
        // Closed meanwhile.
        return false;
      }
    }).length;
  const before = openFiles();
  const body = readBody(await ask());
  await frameCount(body, 1);
  expect(openFiles()).toBe(before + 1);
  await body.cancel();
  await expect.poll(openFiles).toBe(before);
});

test("a stream without news has a heartbeat every 15 s: a comment, and for a page an event", async () => {
  vi.useFakeTimers({ toFake: ["setInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const { ask, url, job } = await startWith([STARTED]);
  const bodies = [
    readBody(await ask()),
    readBody(await fetch(`${url}api/jobs/${job.job.id}/events?history=thinned`)),
  ];
  for (const body of bodies) await body.until((text) => text.includes("training.started"));
  vi.advanceTimersByTime(15_000);
  const [comment, event] = await Promise.all([
    bodies[0]!.until((text) => text.endsWith("\n:\n\n")),
    bodies[1]!.until((text) => text.includes("event: alive\n")),
  ]);
  expect(comment).not.toContain("alive");
  expect(event).not.toContain("\n:\n");
});
