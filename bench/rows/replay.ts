import { closeSync, openSync, statSync, writeSync } from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import { ratioAtMost } from "../goals.ts";
import { COMPLETED, STARTED, logged, ownJob } from "../jobs.ts";
import type { Row } from "../row.ts";
import type { Scope } from "../scope.ts";
import { startBareServer, startKitUi } from "../server.ts";
import { alternate } from "../statistics.ts";

const EVENTS = { full: 1_000_000, quick: 100_000, tiny: 100 };
const RUNS = { full: 7, quick: 7, tiny: 1 };
const EVENTS_AT_ONCE = 10_000;
const MEGA = 1e6;

export const replay: Row = {
  number: 6,
  work: "replay of 1,000,000 events to one client",
  baseline: "`node:http` piping a file of as many bytes",
  async measure(scope) {
    const { megabytes, ours, baseline } = await measureReplay(scope, scope.pick(EVENTS));
    return [
      {
        ours: megabytes / (ours / 1000),
        baseline: megabytes / (baseline / 1000),
        unit: "MB/s",
      },
    ];
  },
};

export const replayGrowth: Row = {
  number: 18,
  work: "row 6 as events grow tenfold",
  baseline: "a tenth of them",
  async measure(scope) {
    const most = scope.pick({ ...EVENTS, full: 300_000 });
    const counts = [most / 100, most / 10, most];
    const figures: number[] = [];
    for (const count of counts) figures.push((await measureReplay(scope, count)).ours);
    return counts.slice(1).map((count, n) => ({
      part: `${count.toLocaleString("en")} events`,
      ours: figures[n + 1] ?? NaN,
      baseline: figures[n],
      unit: "ms" as const,
      goal: ratioAtMost(10),
    }));
  },
};

/** How long it takes to send all of a finished job's log, in ms, as events and as a file. */
async function measureReplay(scope: Scope, events: number) {
  const project = scope.folder();
  const { id, log } = writeFinishedJob(scope, project, events);
  const { url } = await startKitUi(scope, project);
  const bare = await startBareServer(scope, "pipe", log);
  const { size } = statSync(log);
  const figures = await alternate(
    {
      ours: async () => {
        const { ms, last } = await drain(`${url}api/jobs/${id}/events`);
        if (!last.includes("\nevent: end\n")) throw new Error("The stream did not end.");
        return ms;
      },
      baseline: async () => (await drain(bare.url)).ms,
    },
    scope.pick(RUNS),
  );
  return { ...figures, megabytes: size / MEGA };
}

/** @returns the job's id and the path of its log, which holds as many `training.log` events */
export function writeFinishedJob(scope: Scope, project: string, events: number) {
  const { job, directory, append, close } = ownJob(scope, project, [STARTED]);
  const log = join(directory, "events.ndjson");
  const file = openSync(log, "a");
  const time = new Date().toISOString();
  for (let step = 1; step <= events;) {
    let lines = "";
    for (let n = 0; n < EVENTS_AT_ONCE && step <= events; n++, step++) {
      const { event, data } = logged(step);
      lines += `${JSON.stringify({ event, time, data })}\n`;
    }
    writeSync(file, lines);
  }
  closeSync(file);
  append(COMPLETED);
  close();
  return { id: job.id, log };
}

/** Reads an answer to its end and keeps nothing but the end. */
function drain(url: string): Promise<{ ms: number; last: string }> {
  const start = performance.now();
  return new Promise((resolve, reject) => {
    get(url, (response) => {
      let last: Buffer = Buffer.alloc(0);
      response.on("data", (chunk: Buffer) => {
        last = chunk.length > 100 ? chunk : Buffer.concat([last, chunk]);
      });
      response.once("error", reject);
      response.once("end", () => {
        resolve({ ms: performance.now() - start, last: last.toString() });
      });
    }).once("error", reject);
  });
}
