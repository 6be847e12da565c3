import { expect, test } from "vitest";
import { ROUTES } from "../../protocol/http.ts";
import { COMPLETED, STARTED, appendRaw, createJob, logOf, logged, recordEnds } from "../jobs.ts";
import { type Frame, parseFrames, readBody, startServer } from "../uiServer.ts";

const LOGS = 30_000;

/** Without those of times. */
const eventsOf = (text: string) => parseFrames(text).filter(({ event }) => event !== "time");

/** A server, a job of many logs, and the ways to ask for its events once it has completed. */
async function startWithLongJob(isCompleted = true) {
  const { url, project } = await startServer();
  const job = createJob(project, "long", [STARTED]);
  const lines = Array.from({ length: LOGS }, (_, step) =>
    JSON.stringify({ ...logged(step, step === 12_345 ? 9 : 1), time: "t" }),
  );
  appendRaw(job, `${lines.join("\n")}\n`);
  if (isCompleted) job.append(COMPLETED);
  const ask = async (path: string, lastEventId?: string) => {
    const headers: Record<string, string> =
      lastEventId === undefined ? {} : { "Last-Event-ID": lastEventId };
    return eventsOf(await (await fetch(`${url}${path}`, { headers })).text());
  };
  const { id } = job.job;
  return {
    job,
    live: async () => readBody(await fetch(`${url}${ROUTES.jobEvents(id)}`)),
    ends: recordEnds(logOf(job)),
    whole: (lastEventId?: string) => ask(`api/jobs/${id}/events`, lastEventId),
    thinned: (lastEventId?: string) => ask(ROUTES.jobEvents(id), lastEventId),
    thinnedFrom: (from: number) => ask(ROUTES.jobEvents(id, from)),
  };
}

const idsOf = (frames: Frame[]) => frames.map(({ id }) => Number(id));

test("a thinned history has some of the same frames, spike and ends among them", async () => {
  const { ends, whole, thinned } = await startWithLongJob();
  const all = await whole();
  expect(all).toHaveLength(ends.length + 1);
  const some = await thinned();
  expect(some.length).toBeLessThan(4_000);
  expect(all).toEqual(expect.arrayContaining(some.slice(0, 5)));
  expect(some.map(({ id }) => id).filter((id) => !ends.includes(Number(id)))).toEqual([]);
  expect(some[0]).toEqual(all[0]);
  expect(some.slice(-52)).toEqual(all.slice(-52));
  expect(some.map(({ data }) => data)).toContain('{"step":12345,"loss":9}');
});

test("a thinned history begins with the first two logs, however many there are", async () => {
  const { whole, thinned } = await startWithLongJob();
  expect((await thinned()).slice(0, 3)).toEqual((await whole()).slice(0, 3));
});

test("a thinned history has the first, the best and the last three evaluations, and a gap's first two", async () => {
  const { url, project } = await startServer();
  const job = createJob(project, "evaluated", [STARTED]);
  const evalLosses: Record<number, number> = {
    7_001: 3,
    9_001: 9,
    11_003: 2,
    15_005: 5,
    20_007: 4,
    21_001: 6,
    21_003: 6,
    22_005: 7,
    23_005: 7,
    24_005: 7,
  };
  const lines = Array.from({ length: LOGS }, (_, step) => {
    const { event, data } = logged(step, 1);
    return JSON.stringify({ event, data: { ...data, evalLoss: evalLosses[step] } });
  });
  appendRaw(job, `${lines.join("\n")}\n`);
  job.append(COMPLETED);
  const frames = eventsOf(await (await fetch(url + ROUTES.jobEvents(job.job.id))).text());
  expect(frames.length).toBeLessThan(4_000);
  const shown = frames.map(({ data }) => data).filter((data) => data?.includes("evalLoss"));
  expect(shown).toEqual([
    '{"step":7001,"loss":1,"evalLoss":3}',
    '{"step":9001,"loss":1,"evalLoss":9}',
    '{"step":11003,"loss":1,"evalLoss":2}',
    '{"step":15005,"loss":1,"evalLoss":5}',
    '{"step":20007,"loss":1,"evalLoss":4}',
    ...[22_005, 23_005, 24_005].map((step) => `{"step":${step},"loss":1,"evalLoss":7}`),
  ]);
});

test("a reconnection from any id of a thinned history gets a short rest whole", async () => {
  const { ends, thinned } = await startWithLongJob();
  const some = await thinned();
  for (const id of [some.at(-500)!.id, some.at(-60)!.id, some.at(-3)!.id]) {
    const rest = await thinned(id);
    expect(idsOf(rest.slice(0, -1))).toEqual(ends.filter((end) => end > Number(id)));
  }
});

test("a long rest is thinned too, and nothing comes twice", async () => {
  const { ends, thinned, thinnedFrom } = await startWithLongJob();
  for (const rest of [await thinned(String(ends[100])), await thinnedFrom(ends[100]!)]) {
    expect(rest.length).toBeLessThan(4_000);
    expect(idsOf(rest).slice(0, 1)).toEqual([ends[101]]);
    expect(idsOf(rest.slice(-52))).toEqual([...ends.slice(-51), ends.at(-1)]);
  }
});

test("events after a thinned history are whole, each once", async () => {
  const { job, ends, live } = await startWithLongJob(false);
  const stream = await live();
  await stream.until((text) => text.includes(`id: ${ends.at(-1)}\n`));
  for (let step = LOGS; step < LOGS + 4_000; step++) job.append(logged(step, 1));
  job.append(COMPLETED);
  const frames = eventsOf((await stream.all()).toString());
  expect(frames.length).toBeLessThan(4_000 + 4_000);
  expect(idsOf(frames.slice(0, -1)).slice(-4_002)).toEqual(recordEnds(logOf(job)).slice(-4_002));
});

test("a page gets the time of each event beside it, in its history and after", async () => {
  const { job, live } = await startWithLongJob(false);
  const stream = await live();
  await stream.until((text) => text.includes(`"step":${LOGS - 1}`));
  job.append(COMPLETED);
  const frames = parseFrames((await stream.all()).toString());
  const times = frames.filter((_, n) => frames[n + 1]?.event?.includes("."));
  expect(times.length).toBeGreaterThan(1_000);
  expect(new Set(times.map(({ event, id }) => [event, id].join()))).toEqual(new Set(["time,"]));
  expect(times[1]?.data).toBe('"t"');
  expect(times.at(-1)?.data).toMatch(/^"\d{4}-\d\d-\d\dT[\d:.]+Z"$/);
});
